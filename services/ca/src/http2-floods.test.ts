/** Floods below gRPC on 15013: ca ends the connection or reads no more of it, and others get their certificates. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { certificateService } from "@flotilla/proto";
import { http2Floods, sendFlood } from "@flotilla/testkit";
import { startCa } from "./main.fixture.ts";
import { sendRequest } from "./raw-request.fixture.ts";

const ca = await startCa();
after(() => ca[Symbol.asyncDispose]());
const { path } = certificateService.createCertificate;

describe("floods of HTTP/2 on 15013", () => {
  for (const flood of http2Floods)
    it(flood.name, { timeout: 60_000 }, async () => {
      const result = await sendFlood({ port: ca.grpc, path, tls: true }, flood);
      if (flood.endsConnection !== false) assert.notEqual(result.end, "taken", JSON.stringify(result));
      const chain = await sendRequest(ca, { token: await ca.mint("shop", "web") });
      assert.equal(chain.length > 0, true);
    });
});
