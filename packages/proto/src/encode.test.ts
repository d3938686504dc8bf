import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { equals, fromBinary, toBinary } from "@bufbuild/protobuf";
import { StructSchema } from "@bufbuild/protobuf/wkt";
import { ClusterSchema } from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { create, encode, fromJson, merge, pack, registry, toJson, typeNameOf } from "./index.ts";

const scenarios = fileURLToPath(new URL("../../../../shared/scenarios", import.meta.url));

describe("encode", () => {
  it("writes maps in order of their keys", () => {
    const one = create(NodeSchema, { id: "a", dynamicParameters: { b: {}, a: {} } });
    const two = create(NodeSchema, { id: "a", dynamicParameters: { a: {}, b: {} } });
    assert.deepEqual(encode(NodeSchema, one), encode(NodeSchema, two));
  });

  it("keeps Struct, wrappers, negative and large values", () => {
    const json = {
      name: "c",
      connectTimeout: "-3.500s",
      perConnectionBufferLimitBytes: 4294967295,
      metadata: { filterMetadata: { istio: { a: [1, "x", null, { b: true }], z: -1.5 } } },
    };
    const cluster = fromJson(ClusterSchema, json);
    assert.ok(equals(ClusterSchema, fromBinary(ClusterSchema, encode(ClusterSchema, cluster)), cluster));
    assert.deepEqual(toJson(ClusterSchema, cluster), json);
  });

  it("keeps an Any of an unknown type through JSON and back", () => {
    const json = {
      name: "c",
      typedExtensionProtocolOptions: { x: { "@type": "type.googleapis.com/not.Known", value: "AQID" } },
    };
    const cluster = fromJson(ClusterSchema, json);
    assert.deepEqual(cluster.typedExtensionProtocolOptions["x"]?.value, new Uint8Array([1, 2, 3]));
    assert.deepEqual(toJson(ClusterSchema, fromBinary(ClusterSchema, encode(ClusterSchema, cluster))), json);
  });

  it("keeps an unknown Any inside a known one", () => {
    const inner = fromJson(ClusterSchema, {
      name: "in",
      typedExtensionProtocolOptions: { x: { "@type": "t/not.Known", value: "AQ==" } },
    });
    const outer = create(ClusterSchema, {
      name: "out",
      typedExtensionProtocolOptions: { y: pack(ClusterSchema, inner) },
    });
    const json = toJson(ClusterSchema, outer);
    assert.ok(equals(ClusterSchema, fromJson(ClusterSchema, json), outer));
  });

  it("packs a message that holds a Struct", () => {
    const struct = fromJson(StructSchema, { a: { b: 1 } });
    assert.deepEqual(pack(StructSchema, struct).value, toBinary(StructSchema, struct));
  });

  it("merges as protobuf does", () => {
    const a = fromJson(ClusterSchema, {
      name: "a",
      altStatName: "s",
      commonLbConfig: { healthyPanicThreshold: { value: 1 } },
    });
    const b = fromJson(ClusterSchema, { name: "b", commonLbConfig: { ignoreNewHostsUntilFirstHc: true } });
    assert.deepEqual(toJson(ClusterSchema, merge(ClusterSchema, a, b)), {
      name: "b",
      altStatName: "s",
      commonLbConfig: { healthyPanicThreshold: { value: 1 }, ignoreNewHostsUntilFirstHc: true },
    });
  });

  it("agrees with the library on every resource of the captured configurations", {
    skip: !existsSync(scenarios) && "no captured configurations beside the project",
  }, () => {
    let resources = 0;
    for (const file of globSync(
      "{services,virtualservice,destinationrule,security,telemetry,ambient,gateways}/*/golden/*/*.json",
      { cwd: scenarios },
    )) {
      const { typeUrl, resources: byName } = JSON.parse(readFileSync(join(scenarios, file), "utf8"));
      const desc = registry.getMessage(typeNameOf(typeUrl));
      assert.ok(desc, typeUrl);
      for (const [name, { "@type": _, ...json }] of Object.entries<Record<string, never>>(byName)) {
        const message = fromJson(desc, json);
        const bytes: Uint8Array = encode(desc, message);
        assert.ok(equals(desc, fromBinary(desc, bytes), fromBinary(desc, toBinary(desc, message))), `${file} ${name}`);
        assert.deepEqual(toJson(desc, fromBinary(desc, bytes)), json, `${file} ${name}`);
        resources++;
      }
    }
    assert.ok(resources > 1000, `only ${resources} resources`);
  });
});
