/**
 * Floods below gRPC on 15013: ca ends the connection, resets the streams or reads no more, and others get their certificates meanwhile. Its
 * keepalive of a minute is longer than a test may take.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:http2";
import { after, describe, it } from "node:test";
import { certificateService } from "@flotilla/proto";
import { assertBounded, http2Floods, sendFlood } from "@flotilla/testkit";
import { startCa } from "./main.fixture.ts";
import { sendRequest } from "./raw-request.fixture.ts";

const ca = await startCa();
after(() => ca[Symbol.asyncDispose]());
const { path } = certificateService.createCertificate;

const refusedStream = 7;
const asked = 1_000;
/** Calls of one connection that are served at a time; further ones of a flood are refused. */
const streamsAtOnce = 8;

describe("floods of HTTP/2 on 15013", () => {
  for (const flood of http2Floods)
    it(flood.name, { timeout: 60_000 }, async () => {
      const answered = Promise.withResolvers<void>();
      const flooding = sendFlood({ port: ca.grpc, path, tls: true }, flood, answered.promise);
      const chain = await sendRequest(ca, { token: await ca.mint("shop", "web") });
      answered.resolve();
      assert.equal(chain.length > 0, true);
      const result = await flooding;
      assertBounded(flood, result);
      if (flood.name === "zero windows") assert.deepEqual(result.resets, { [refusedStream]: asked - streamsAtOnce });
    });
});

it("a connection may have eight calls at a time, as packages/raw-grpc enforces", async () => {
  const session = connect(`https://127.0.0.1:${ca.grpc}`, { rejectUnauthorized: false });
  await once(session, "remoteSettings");
  assert.equal(session.remoteSettings.maxConcurrentStreams, 8);
  session.destroy();
});
