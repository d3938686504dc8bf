import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Metadata } from "@grpc/grpc-js";
import { callerOf } from "./grpc-caller.ts";

function caller(peer: string, raw?: Buffer) {
  const metadata = new Metadata();
  metadata.add("authorization", "Basic a");
  metadata.add("authorization", "Bearer b");
  metadata.add("clusterid", "east");
  metadata.add("trace-bin", Buffer.of(1));
  const context = raw === undefined ? {} : { sslPeerCertificate: { raw } };
  return callerOf({ metadata, getPeer: () => peer, getAuthContext: () => context as never });
}

describe("the sender of a gRPC call", () => {
  it("shows its metadata, texts alone, and its certificate", () => {
    const { metadata, peerCertificate } = caller("10.0.0.1:5", Buffer.of(7));
    assert.deepEqual(metadata.get("authorization"), ["Basic a", "Bearer b"]);
    assert.deepEqual(metadata.get("clusterid"), ["east"]);
    assert.deepEqual(metadata.get("trace-bin"), []);
    assert.deepEqual(peerCertificate, Buffer.of(7));
  });
  it("has no certificate where the connection has none", () => assert.equal("peerCertificate" in caller("x:1"), false));
  for (const [peer, address] of [
    ["10.0.0.1:5", "10.0.0.1:5"],
    ["fd00::1:5", "[fd00::1]:5"],
    ["::ffff:10.0.0.1:5", "[::ffff:10.0.0.1]:5"],
    ["[fd00::1]:5", "[fd00::1]:5"],
    ["unix:/run/x:5", "unix:/run/x:5"],
    ["fd00::1:http", "fd00::1:http"],
    ["unknown", "unknown"],
  ] as const)
    it(`calls from ${peer} as ${address}`, () => assert.equal(caller(peer).remoteAddress, address));
});
