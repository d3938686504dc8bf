/**
 * Floods below gRPC on 15013: ca ends the connection, resets the streams or reads no more, and others get their certificates meanwhile. Its
 * keepalive of a minute is longer than a test may take.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, constants } from "node:http2";
import { after, describe, it } from "node:test";
import { certificateService } from "@flotilla/proto";
import { assertBounded, floodDuring, http2Floods } from "@flotilla/testkit";
import { startCa } from "./main.fixture.ts";
import { sendRequest } from "./raw-request.fixture.ts";

const ca = await startCa();
after(() => ca[Symbol.asyncDispose]());
const { path } = certificateService.createCertificate;

const asked = 1_000;
/** Calls of one connection that are served at a time; further ones of a flood are refused. */
const streamsAtOnce = 8;

describe("floods of HTTP/2 on 15013", () => {
  for (const flood of http2Floods)
    it(flood.name, { timeout: 60_000 }, async () => {
      const result = await floodDuring({ port: ca.grpc, path, tls: true }, flood, async () => {
        const chain = await sendRequest(ca, { token: await ca.mint("shop", "web") });
        assert.equal(chain.length > 0, true);
      });
      assertBounded(flood, result);
      const refused = { [constants.NGHTTP2_REFUSED_STREAM]: asked - streamsAtOnce };
      if (flood.name === "zero windows") assert.deepEqual(result.resets, refused);
    });
});

it("a connection may have eight calls at a time, as packages/raw-grpc enforces", async () => {
  const session = connect(`https://127.0.0.1:${ca.grpc}`, { rejectUnauthorized: false });
  try {
    await once(session, "remoteSettings");
    assert.equal(session.remoteSettings.maxConcurrentStreams, streamsAtOnce);
  } finally {
    session.destroy();
  }
});
