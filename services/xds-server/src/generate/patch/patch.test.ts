import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { toJson } from "@flotilla/proto";
import { ClusterSchema } from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import { aPatch, readPatchesOf } from "../../testing/patches.ts";

describe("reading patches", () => {
  const cases: readonly (readonly [name: string, patch: object, expected: RegExp])[] = [
    ["a value of another type", { value: { connectTimeout: 5 } }, /^patch\.value .*(Duration|connect)/],
    [
      "a type that is not known",
      { value: { filters: [{ name: "f", typedConfig: { "@type": "a.b/c.D", x: 1 } }] } },
      /c\.D/,
    ],
    [
      "a typed config without a type",
      { value: { filters: [{ name: "f", typedConfig: { x: 1 } }] } },
      /^patch\.value .*(@type|Any)/,
    ],
    ["no value", {}, /^patch\.value is missing$/],
  ];
  for (const [name, patch, expected] of cases)
    it(`leaves out one with ${name}, and says why`, () => {
      const good = { applyTo: "CLUSTER", patch: { operation: "MERGE", value: { connectTimeout: "1s" } } };
      const bad = { applyTo: "CLUSTER", patch: { operation: "MERGE", ...patch } };
      const { patches, problems } = readPatchesOf(good, bad, good);
      assert.deepEqual(
        patches.map(({ index }) => index),
        [0, 2],
      );
      assert.equal(problems.length, 1);
      assert.equal(problems[0]?.index, 1);
      assert.match(`${problems[0]?.path} ${problems[0]?.reason}`, expected);
    });

  it("uses the known fields of a value with unknown ones, and names those", () => {
    const { patches, problems } = readPatchesOf({
      applyTo: "CLUSTER",
      patch: { operation: "MERGE", value: { connect_timeout: "1s", conect_timeout: "2s" } },
    });
    assert.deepEqual(toJson(ClusterSchema, patches[0]?.value as never), { connectTimeout: "1s" });
    assert.match(problems[0]?.reason ?? "", /conect_timeout.*the other fields are used$/);
  });

  it("keeps typed configs of unknown types as bytes", () => {
    const typedConfig = { "@type": "type.googleapis.com/acme.Filter", value: "CAE=" };
    const value = { filters: [{ name: "acme", typedConfig }] };
    const [patch] = aPatch({ applyTo: "CLUSTER", patch: { operation: "MERGE", value } });
    assert.deepEqual(toJson(ClusterSchema, patch?.value as never), value);
  });

  it("gives equal patches equal ids, and others others", () => {
    const one = { applyTo: "CLUSTER", patch: { operation: "MERGE", value: { connectTimeout: "1s" } } };
    const other = { applyTo: "CLUSTER", patch: { operation: "MERGE", value: { connectTimeout: "2s" } } };
    const id = (patch: typeof one) => aPatch(patch)[0]?.id;
    assert.equal(id(one), id(structuredClone(one)));
    assert.notEqual(id(one), id(other));
  });

  it("refuses what is applied to nothing or does nothing", () => {
    const { problems } = readPatchesOf(
      { patch: { operation: "ADD", value: {} } },
      { applyTo: "CLUSTER", patch: { value: {} } },
      { applyTo: "HTTP_FILTER", patch: { operation: "MERGE_AND_REPLACE_LIST", value: { name: "f" } } },
    );
    assert.deepEqual(
      problems.map(({ path }) => path),
      ["applyTo", "patch.operation", "patch.operation"],
    );
  });
});
