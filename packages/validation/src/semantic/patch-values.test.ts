/** Values of EnvoyFilters against Envoy's own types, as the webhook, the API and `flotilla validate` check them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { patchValueProblem } from "@flotilla/proto/patch-values";
import { problemText } from "../problem.ts";
import { createValidator } from "../validate-object.ts";

const validate = createValidator({ patchValue: () => patchValueProblem });
const manager = "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager";
const managed = (config: object) => ({ name: "http", typed_config: { "@type": manager, ...config } });

function findings(applyTo: string, operation: string, value: unknown, match: object = {}): readonly string[] {
  const patch = { operation, ...(value !== undefined && { value }) };
  const metadata = { name: "a", namespace: "shop" };
  const spec = { configPatches: [{ applyTo, match, patch }] };
  return validate({ apiVersion: "networking.istio.io/v1alpha3", kind: "EnvoyFilter", metadata, spec })
    .filter(({ field }) => field !== "spec")
    .map((problem) => `${problem.severity} ${problemText(problem)}`);
}

const path = /spec\.configPatches\[0\]\.patch\.value: /.source;

describe("values of EnvoyFilters", () => {
  // The verdicts are those of istiod's webhook; the words are ours.
  const cases: readonly (readonly [name: string, ...of: Parameters<typeof findings>, found: string | undefined])[] = [
    ["an empty one", "CLUSTER", "MERGE", {}, {}, undefined],
    ["one that fits", "NETWORK_FILTER", "MERGE", managed({ stat_prefix: "a" }), {}, undefined],
    ["a name without a type", "HTTP_FILTER", "INSERT_BEFORE", { name: "x" }, {}, `^warning ${path}has no typed_config`],
    ["no duration", "CLUSTER", "MERGE", { connect_timeout: "10.0.0.1" }, {}, `^error ${path}.*duration`],
    ["no member of an enumeration", "CLUSTER", "MERGE", { type: "NOPE" }, {}, `^error ${path}.*NOPE`],
    ["a field that is not there", "CLUSTER", "MERGE", { nope: 1 }, {}, `^warning ${path}.*nope.*other fields are used`],
    ["a wrong type within", "NETWORK_FILTER", "MERGE", managed({ stat_prefix: 1 }), {}, `^error ${path}`],
    ["an unknown field within", "NETWORK_FILTER", "MERGE", managed({ nope: 1 }), {}, `^warning ${path}.*nope`],
    [
      "no type",
      "HTTP_FILTER",
      "INSERT_FIRST",
      { name: "x", typed_config: {} },
      {},
      "^error .*typed_config: needs a type",
    ],
    ["no duration, of a removal", "CLUSTER", "REMOVE", { connect_timeout: "bad" }, {}, `^error ${path}`],
    [
      "no duration, for waypoints",
      "CLUSTER",
      "MERGE",
      { connect_timeout: "bad" },
      { context: "WAYPOINT", waypoint: {} },
      undefined,
    ],
  ];
  for (const [name, applyTo, operation, value, match, found] of cases)
    it(`${found === undefined ? "take" : found.startsWith("^error") ? "refuse" : "warn of"} ${name}`, () => {
      const texts = findings(applyTo, operation, value, match);
      assert.equal(texts.length, found === undefined ? 0 : 1, texts.join("\n"));
      if (found !== undefined) assert.match(texts[0] ?? "", new RegExp(found, "i"));
    });

  it("are not checked where Envoy's types are not loaded", () => {
    const spec = { configPatches: [{ applyTo: "CLUSTER", patch: { operation: "MERGE", value: { type: "NOPE" } } }] };
    const object = { apiVersion: "networking.istio.io/v1alpha3", kind: "EnvoyFilter", spec };
    const problems = createValidator()({ ...object, metadata: { name: "a", namespace: "shop" } });
    assert.deepEqual(
      problems.map(({ field }) => field),
      ["spec"],
    );
  });
});
