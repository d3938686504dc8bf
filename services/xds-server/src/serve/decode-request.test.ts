/** Requests of either form out of their bytes, and the node of the first one. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { NodeError } from "@flotilla/model";
import { create, encode, typeUrl } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import {
  DeltaDiscoveryRequestSchema,
  DiscoveryRequestSchema,
} from "@flotilla/proto/envoy/service/discovery/v3/discovery_pb";
import { status } from "@grpc/grpc-js";
import { NodeReader, RequestDecoder } from "./decode-request.ts";

const id = "sidecar~10.0.0.1~web.shop~shop.svc.cluster.local";
const sotw = (nonce: string, more: object = {}) =>
  Buffer.from(
    encode(
      DiscoveryRequestSchema,
      create(DiscoveryRequestSchema, { typeUrl: typeUrl.cluster, responseNonce: nonce, ...more }),
    ),
  );
const delta = (nonce: string) =>
  Buffer.from(
    encode(
      DeltaDiscoveryRequestSchema,
      create(DeltaDiscoveryRequestSchema, { typeUrl: typeUrl.cluster, responseNonce: nonce }),
    ),
  );

describe("requests", () => {
  it("of equal bytes are decoded once, in each form by itself", () => {
    const decoder = new RequestDecoder();
    const first = decoder.decode("sotw", sotw("n1"));
    assert.equal(first.request.typeUrl, typeUrl.cluster);
    assert.equal(first.node, undefined);
    assert.equal(decoder.decode("sotw", sotw("n1")), first);
    assert.notEqual(decoder.decode("sotw", sotw("n2")), first);
    const other = decoder.decode("delta", delta("n1"));
    assert.equal(other.request.typeUrl, typeUrl.cluster);
    assert.equal(decoder.decode("delta", delta("n1")), other);
  });
  it("with a node, or longer than acknowledgements are, are decoded each time", () => {
    const decoder = new RequestDecoder();
    for (const more of [{ node: create(NodeSchema, { id }) }, { resourceNames: ["n".repeat(513)] }]) {
      const bytes = sotw("n1", more);
      assert.notEqual(decoder.decode("sotw", bytes), decoder.decode("sotw", bytes));
    }
    assert.equal(decoder.decode("sotw", sotw("n1", { node: create(NodeSchema, { id }) })).node?.id, id);
  });
  it("are remembered up to a bound", () => {
    const decoder = new RequestDecoder();
    const first = decoder.decode("sotw", sotw("first"));
    for (let i = 0; i < 255; i++) decoder.decode("sotw", sotw(`n${i}`));
    assert.equal(decoder.decode("sotw", sotw("first")), first);
    decoder.decode("sotw", sotw("one more"));
    assert.notEqual(decoder.decode("sotw", sotw("first")), first);
  });
  it("that are garbage are refused", () => {
    const decoder = new RequestDecoder();
    for (const form of ["sotw", "delta"] as const)
      assert.throws(() => decoder.decode(form, Buffer.from([0xff, 0xff])), { code: status.INVALID_ARGUMENT });
  });
});

describe("a node", () => {
  const extensions = (...typeUrls: readonly string[]) => [{ typeUrls: [...typeUrls] }];
  const read = (reader: NodeReader, more: object = {}) => reader.read(create(NodeSchema, { id, ...more }));

  it("has the extensions that its Envoy names, the same ones for all that name these", () => {
    const reader = new NodeReader();
    const one = read(reader, { extensions: extensions("b", "a") });
    assert.deepEqual([...(one.extensions ?? [])].sort(), ["a", "b"]);
    assert.equal(read(reader, { extensions: extensions("a", "b") }).extensions, one.extensions);
    assert.notEqual(read(reader, { extensions: extensions("a") }).extensions, one.extensions);
    assert.equal(read(reader).extensions, undefined);
  });
  it("has its locality", () => {
    const { locality } = read(new NodeReader(), { locality: { region: "r", zone: "z", subZone: "s" } });
    assert.deepEqual(locality, { region: "r", zone: "z", subzone: "s" });
  });
  it("may have half a megabyte of metadata", () => {
    const withText = (length: number) => read(new NodeReader(), { metadata: { TEXT: "x".repeat(length) } });
    assert.equal(withText(524_288 - '{"TEXT":""}'.length).id, "web.shop");
    assert.throws(() => withText(524_288), NodeError);
  });
});
