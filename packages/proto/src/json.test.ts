import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { equals, type JsonValue } from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import { ClusterSchema } from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import { NodeSchema, TransportSocketSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { VirtualServiceSchema } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import {
  anyToJson,
  bytesToJson,
  create,
  decode,
  encode,
  fromJson,
  pack,
  registry,
  toJson,
  unpack,
  unpackAs,
} from "./index.ts";
import { randomMessage } from "./testing/random-message.ts";
import { seededRandom } from "./testing/seeded-random.ts";

/** JSON of an Any → message → bytes → message → JSON. */
function throughEverything(json: JsonValue): JsonValue {
  return anyToJson(decode(AnySchema, encode(AnySchema, fromJson(AnySchema, json))));
}

const google = (name: string) => `type.googleapis.com/google.protobuf.${name}`;
const typedStruct = "type.googleapis.com/udpa.type.v1.TypedStruct";
const transportSocket = "type.googleapis.com/envoy.config.core.v3.TransportSocket";
const unknown = { "@type": "example.com/not.Known", value: "AQID" };

describe("JSON of an Any comes back as it was", () => {
  const cases: readonly (readonly [name: string, json: JsonValue])[] = [
    ["Duration", { "@type": google("Duration"), value: "1.500s" }],
    ["wrapper", { "@type": google("UInt32Value"), value: 7 }],
    ["Struct", { "@type": google("Struct"), value: { a: { b: [1, null, "x"] } } }],
    ["Value that is an object", { "@type": google("Value"), value: { a: 1 } }],
    ["Any within an Any", { "@type": google("Any"), value: { "@type": google("BytesValue"), value: "AQ==" } }],
    ["unknown type", unknown],
    ["unknown type in a known one", { "@type": transportSocket, name: "t", typedConfig: unknown }],
    ["unknown type within an Any", { "@type": google("Any"), value: unknown }],
    ["another prefix", { "@type": "example.com/envoy.config.core.v3.TransportSocket", name: "t" }],
    [
      "TypedStruct",
      { "@type": typedStruct, typeUrl: "type.googleapis.com/stats.PluginConfig", value: { metrics: [{}] } },
    ],
    ["plain data that looks like an Any", { "@type": typedStruct, value: { inner: unknown } }],
    ["no type", {}],
  ];
  for (const [name, json] of cases) {
    it(name, () => assert.deepEqual(throughEverything(json), json));
  }

  it("random messages of every type", () => {
    const random = seededRandom(3);
    for (const desc of registry) {
      if (desc.kind !== "message" || desc.typeName.startsWith("google.protobuf.")) continue;
      const message = randomMessage(desc, random, { depth: 3, maxEntries: 3 });
      assert.ok(equals(desc, fromJson(desc, toJson(desc, message)), message), desc.typeName);
    }
  });
});

describe("fromJson", () => {
  it("reads both names of a field, and unknown Anys under both", () => {
    const json = { name: "t", typed_config: unknown };
    assert.deepEqual(toJson(TransportSocketSchema, fromJson(TransportSocketSchema, json)), {
      name: "t",
      typedConfig: unknown,
    });
  });

  it("leaves out unknown fields when asked to", () => {
    const json = { hosts: ["a"], http: [{ nonsense: 1, route: [{ destination: { host: "b" } }] }] };
    const read = fromJson(VirtualServiceSchema, json, { ignoreUnknownFields: true });
    assert.equal(read.http[0]?.route[0]?.destination?.host, "b");
  });

  const refused: readonly (readonly [name: string, json: JsonValue, message: RegExp])[] = [
    ["an unknown field", { hosts: ["a"], nonsense: 1 }, /VirtualService.*"nonsense"/],
    ["a value of the wrong type", { http: [{ timeout: 5 }] }, /google\.protobuf\.Duration/],
    ["an unknown enum name", { tls: [{ match: [{ port: "x" }] }] }, /TLSMatchAttributes\.port/],
  ];
  for (const [name, json, message] of refused) {
    it(`names ${name}`, () => {
      assert.throws(() => fromJson(VirtualServiceSchema, json), { code: "PROTO_JSON", message });
    });
  }

  it("refuses an unknown type whose content is not bytes, by name", () => {
    for (const content of [{ value: "not base64!" }, { field: 1 }, { value: "AQ==", field: 1 }, {}]) {
      const json = { name: "t", typedConfig: { "@type": "example.com/not.Known", ...content } };
      assert.throws(() => fromJson(TransportSocketSchema, json), {
        code: "PROTO_JSON",
        message: /example\.com\/not\.Known/,
      });
    }
  });
});

describe("toJson", () => {
  it("reports that an Any holds other bytes than its type says", () => {
    const broken = create(AnySchema, { typeUrl: transportSocket, value: new Uint8Array([10, 9]) });
    assert.throws(() => anyToJson(broken), { code: "PROTO_JSON" });
  });

  it("prints what a type URL and bytes stand for", () => {
    const { typeUrl, value } = pack(NodeSchema, { id: "n" });
    assert.deepEqual(bytesToJson(typeUrl, value), { "@type": typeUrl, id: "n" });
  });
});

describe("unpack", () => {
  const any = pack(ClusterSchema, { name: "c" });

  it("gives the message, by the type it has or the type asked for", () => {
    assert.deepEqual(unpack(any), create(ClusterSchema, { name: "c" }));
    assert.equal(unpackAs(ClusterSchema, any)?.name, "c");
  });

  it("gives nothing for an unknown or another type", () => {
    assert.equal(unpack(create(AnySchema, { typeUrl: "example.com/not.Known" })), undefined);
    assert.equal(unpackAs(NodeSchema, any), undefined);
  });
});
