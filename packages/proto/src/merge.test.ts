import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { clone, type DescMessage, equals, type JsonValue, mergeFromBinary } from "@bufbuild/protobuf";
import { StructSchema, UInt32ValueSchema } from "@bufbuild/protobuf/wkt";
import { ClusterSchema } from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import { create, decode, encode, fromJson, merge, registry, toJson } from "./index.ts";
import { randomMessage } from "./testing/random-message.ts";
import { seededRandom } from "./testing/seeded-random.ts";

interface Case {
  readonly name: string;
  readonly target: JsonValue;
  readonly source: JsonValue;
  readonly expected: JsonValue;
  readonly schema?: DescMessage;
  readonly replace?: readonly string[];
}

const cases: readonly Case[] = [
  {
    name: "a set scalar replaces",
    target: { name: "a", altStatName: "s" },
    source: { name: "b" },
    expected: { name: "b", altStatName: "s" },
  },
  { name: "an unset scalar leaves what is there", target: { name: "a" }, source: {}, expected: { name: "a" } },
  {
    name: "messages recurse",
    target: { commonLbConfig: { healthyPanicThreshold: { value: 1 } } },
    source: { commonLbConfig: { ignoreNewHostsUntilFirstHc: true } },
    expected: { commonLbConfig: { healthyPanicThreshold: { value: 1 }, ignoreNewHostsUntilFirstHc: true } },
  },
  {
    name: "lists append",
    target: { healthChecks: [{ altPort: 1 }] },
    source: { healthChecks: [{ altPort: 2 }] },
    expected: { healthChecks: [{ altPort: 1 }, { altPort: 2 }] },
  },
  {
    name: "maps join by key, values and Structs replace",
    target: { metadata: { filterMetadata: { a: { x: 1 }, b: { x: 1 } } } },
    source: { metadata: { filterMetadata: { b: { y: 2 }, c: { z: 3 } } } },
    expected: { metadata: { filterMetadata: { a: { x: 1 }, b: { y: 2 }, c: { z: 3 } } } },
  },
  {
    name: "a wrapper replaces",
    target: { perConnectionBufferLimitBytes: 5 },
    source: { perConnectionBufferLimitBytes: 6 },
    expected: { perConnectionBufferLimitBytes: 6 },
  },
  {
    name: "a wrapper of zero sets what is unset",
    target: {},
    source: { perConnectionBufferLimitBytes: 0 },
    expected: { perConnectionBufferLimitBytes: 0 },
  },
  {
    name: "a wrapper of zero leaves what is there",
    target: { perConnectionBufferLimitBytes: 5 },
    source: { perConnectionBufferLimitBytes: 0 },
    expected: { perConnectionBufferLimitBytes: 5 },
  },
  {
    name: "a oneof replaces another choice",
    target: { type: "EDS" },
    source: { clusterType: { name: "custom" } },
    expected: { clusterType: { name: "custom" } },
  },
  {
    name: "a oneof of the same message recurses",
    target: { clusterType: { name: "custom" } },
    source: { clusterType: { typedConfig: { "@type": "x/y", value: "" } } },
    expected: { clusterType: { name: "custom", typedConfig: { "@type": "x/y", value: "" } } },
  },
  {
    name: "a oneof's zero is a choice",
    target: { type: "EDS" },
    source: { type: "STATIC" },
    expected: { type: "STATIC" },
  },
  {
    name: "a Duration merges seconds and nanos apart",
    target: { connectTimeout: "0.500s" },
    source: { connectTimeout: "5s" },
    expected: { connectTimeout: "5.500s" },
  },
  {
    name: "a Duration replaces as a whole when asked",
    target: { connectTimeout: "0.500s" },
    source: { connectTimeout: "5s" },
    expected: { connectTimeout: "5s" },
    replace: ["google.protobuf.Duration"],
  },
  {
    name: "a Struct itself",
    schema: StructSchema,
    target: { a: 1, b: { c: 1 } },
    source: { b: { d: 2 } },
    expected: { a: 1, b: { d: 2 } },
  },
  { name: "a wrapper itself", schema: UInt32ValueSchema, target: 5, source: 0, expected: 5 },
];

describe("merge", () => {
  for (const { name, target, source, expected, schema = ClusterSchema, replace = [] } of cases) {
    it(name, () => {
      const result = merge(schema, fromJson(schema, target), fromJson(schema, source), { replace });
      assert.deepEqual(toJson(schema, result), expected);
    });
  }

  it("is what decoding concatenated encodings gives, for random messages of every type", () => {
    const random = seededRandom(4);
    for (const desc of registry) {
      if (desc.kind !== "message" || desc.typeName.startsWith("google.protobuf.")) continue;
      const [a, b] = [1, 2].map(() => randomMessage(desc, random, { depth: 3, maxEntries: 3 })) as [never, never];
      const expected = mergeFromBinary(desc, clone(desc, a), encode(desc, b));
      assert.ok(equals(desc, merge(desc, a, b), expected), desc.typeName);
    }
  });

  it("changes and shares neither argument", () => {
    const target = fromJson(ClusterSchema, { healthChecks: [{ altPort: 1 }] });
    const source = fromJson(ClusterSchema, { healthChecks: [{ altPort: 2 }], commonLbConfig: {} });
    const before = [target, source].map((message) => encode(ClusterSchema, message));
    const result = merge(ClusterSchema, target, source);
    assert.notEqual(result.commonLbConfig, source.commonLbConfig);
    assert.notEqual(result.healthChecks[0], target.healthChecks[0]);
    assert.deepEqual(
      [target, source].map((message) => encode(ClusterSchema, message)),
      before,
    );
  });

  it("keeps fields that it does not know, of both", () => {
    const withUnknown = (value: number) => decode(ClusterSchema, new Uint8Array([0xf8, 0x7f, value]));
    const result = merge(ClusterSchema, withUnknown(1), withUnknown(2));
    assert.deepEqual(encode(ClusterSchema, result), new Uint8Array([0xf8, 0x7f, 1, 0xf8, 0x7f, 2]));
    assert.equal(create(ClusterSchema).$unknown, undefined);
  });
});
