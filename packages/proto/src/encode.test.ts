import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { equals, toBinary } from "@bufbuild/protobuf";
import { DurationSchema, StructSchema, UInt32ValueSchema } from "@bufbuild/protobuf/wkt";
import { Cluster_DiscoveryType, ClusterSchema } from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { ListenerSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_pb";
import { create, decode, encode, fromJson, ProtoError, pack, registry, toJson } from "./index.ts";
import { randomMessage } from "./testing/random-message.ts";
import { seededRandom } from "./testing/seeded-random.ts";

const everyType = [...registry]
  .filter((desc) => desc.kind === "message")
  .filter(({ typeName }) => !typeName.startsWith("google.protobuf."));

describe("encode", () => {
  it("agrees byte for byte with the library on random messages of every type", () => {
    const random = seededRandom(1);
    for (const desc of everyType) {
      // The library writes maps in order of insertion, so they have one entry here.
      const message = randomMessage(desc, random, { depth: 3, maxEntries: 1 });
      assert.deepEqual(encode(desc, message), toBinary(desc, message), desc.typeName);
    }
    assert.ok(everyType.length > 1500);
  });

  it("keeps maps of many entries", () => {
    const random = seededRandom(2);
    for (const desc of everyType.filter(({ fields }) => fields.some(({ fieldKind }) => fieldKind === "map"))) {
      const message = randomMessage(desc, random, { depth: 3, maxEntries: 5 });
      assert.ok(equals(desc, decode(desc, encode(desc, message)), message), desc.typeName);
    }
  });

  it("writes maps and Structs in order of their keys", () => {
    const one = create(NodeSchema, {
      id: "a",
      dynamicParameters: { b: {}, a: {} },
      metadata: { y: 1, x: { d: 1, c: 2 } },
    });
    const two = create(NodeSchema, {
      id: "a",
      dynamicParameters: { a: {}, b: {} },
      metadata: { x: { c: 2, d: 1 }, y: 1 },
    });
    assert.deepEqual(encode(NodeSchema, one), encode(NodeSchema, two));
  });

  it("keeps wrappers, negative and large values", () => {
    const json = {
      name: "c",
      connectTimeout: "-3.500s",
      perConnectionBufferLimitBytes: 4294967295,
      metadata: { filterMetadata: { istio: { a: [1, "x", null, { b: true }], z: -1.5 } } },
    };
    assert.deepEqual(
      toJson(ClusterSchema, decode(ClusterSchema, encode(ClusterSchema, fromJson(ClusterSchema, json)))),
      json,
    );
  });

  it("keeps fields that it does not know", () => {
    const bytes = new Uint8Array([10, 1, 97, 0xf8, 0x7f, 5, 0xfa, 0x7f, 2, 1, 2]); // 1: "a", 2047: 5, 2047: two bytes
    assert.deepEqual(encode(NodeSchema, decode(NodeSchema, bytes)), bytes);
  });

  it("grows with the message", () => {
    const name = "ü".repeat(100_000);
    assert.equal(decode(NodeSchema, encode(NodeSchema, create(NodeSchema, { id: name, cluster: name }))).cluster, name);
  });

  it("takes plain objects for messages", () => {
    const init = {
      name: "c",
      clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.EDS },
      connectTimeout: { seconds: 10n },
    } as const;
    assert.deepEqual(encode(ClusterSchema, init), encode(ClusterSchema, create(ClusterSchema, init)));
    assert.deepEqual(pack(DurationSchema, { nanos: 1 }).value, new Uint8Array([16, 1]));
  });

  it("packs a message that is a Struct itself", () => {
    const struct = fromJson(StructSchema, { a: { b: 1 } });
    assert.deepEqual(pack(StructSchema, struct).value, toBinary(StructSchema, struct));
  });

  it("refuses numbers that are none of 32 bits", () => {
    for (const value of [-1, -0.1, 300.5, 2 ** 32, 2 ** 53, 1e308, Number.NaN])
      assert.throws(
        () => encode(UInt32ValueSchema, { value } as never),
        /\[PROTO_ENCODE\].* is no whole number of 32 bits/,
      );
    assert.deepEqual(encode(UInt32ValueSchema, { value: 2 ** 32 - 1 }), new Uint8Array([8, 255, 255, 255, 255, 15]));
  });

  it("refuses a message of another type, and a value of another type, and goes on", () => {
    const listener = create(ListenerSchema, { name: "l" });
    const expected = (error: unknown) => error instanceof ProtoError && error.code === "PROTO_ENCODE";
    assert.throws(() => encode(ClusterSchema, listener as never), expected);
    assert.throws(() => encode(ListenerSchema, { ...listener, name: 7 } as never), expected);
    assert.deepEqual(encode(ListenerSchema, listener), new Uint8Array([10, 1, 108]));
  });
});

describe("decode", () => {
  it("names the message when the bytes are not of its form", () => {
    assert.throws(() => decode(ClusterSchema, new Uint8Array([10, 9, 1])), {
      code: "PROTO_DECODE",
      message: /^\[PROTO_DECODE\] cannot decode envoy\.config\.cluster\.v3\.Cluster from 3 bytes: /,
    });
  });
});
