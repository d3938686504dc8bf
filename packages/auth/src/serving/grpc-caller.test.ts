import assert from "node:assert/strict";
import { it } from "node:test";
import { callerOf } from "./grpc-caller.ts";

const metadata = new Map([["authorization", ["Basic a", "Bearer b"]]]);

it("the sender of a gRPC call has the call's metadata, address and certificate", () => {
  const peerCertificate = Buffer.of(7);
  const caller = callerOf({ metadata, peer: "[fd00::1]:5", peerCertificate });
  assert.deepEqual(caller, { metadata, remoteAddress: "[fd00::1]:5", peerCertificate });
});

it("the sender of a gRPC call has no certificate where the connection has none", () =>
  assert.deepEqual(callerOf({ metadata, peer: "a:1", peerCertificate: undefined }), {
    metadata,
    remoteAddress: "a:1",
  }));
