/** ConfigMaps that hold a mesh's settings, and the findings in them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { meshConfigMapProblems, meshDocuments } from "./mesh-config-map.ts";

const map = (data: unknown, name: unknown = "istio") => ({
  ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "istio-system" } },
  data,
});

const problems: readonly (readonly [
  name: string,
  given: ReturnType<typeof map>,
  want: readonly RegExp[] | undefined,
])[] = [
  ["settings that are good", map({ mesh: "accessLogFile: /dev/stdout" }), []],
  ["those of a revision", map({ mesh: "{}" }, "istio-canary"), []],
  ["another ConfigMap", map({ mesh: "{}" }, "istiod"), undefined],
  ["one without a name", map({ mesh: "{}" }, 7), undefined],
  ["one without data", map(undefined), undefined],
  ["one without settings", map({ values: "{}" }), undefined],
  ["empty settings", map({ mesh: " \n" }), []],
  ["a wrong field", map({ mesh: "connectTimeout: soon" }), [/^data\.mesh\.connectTimeout error /]],
  ["networks", map({ meshNetworks: "networks: {a: {gateways: [{port: 70000}]}}" }), [/^data\.meshNetworks\.networks/]],
  ["no YAML", map({ mesh: "a: [" }), [/^data\.mesh error is no YAML: /]],
  ["a list", map({ mesh: "[a]" }), [/^data\.mesh error is no object$/]],
];

describe("a ConfigMap of an installation", () => {
  for (const [name, given, want] of problems)
    it(`with ${name}`, () => {
      const found = meshConfigMapProblems(given)?.map(
        ({ field, severity, reason }) => `${field} ${severity} ${reason}`,
      );
      assert.equal(found?.length, want?.length, found?.join("\n"));
      for (const [index, pattern] of (want ?? []).entries()) assert.match(found?.[index] ?? "", pattern);
    });

  it("is read for analysis by its revision, documents that are no YAML left out", () => {
    const data = { mesh: "rootNamespace: root", meshNetworks: "a: [" };
    assert.deepEqual(meshDocuments(map(data), "default"), [
      { kind: "MeshConfig", document: { rootNamespace: "root" } },
    ]);
    assert.equal(meshDocuments(map(data, "istio-canary"), "canary").length, 1);
    assert.deepEqual(meshDocuments(map(data), "canary"), []);
    for (const mesh of [undefined, 7, { rootNamespace: "root" }, " \n"])
      assert.deepEqual(meshDocuments(map({ mesh }), "default"), []);
    for (const other of [
      map(data, "istio-canary"),
      { ...map(data), kind: "Secret" },
      { ...map(data), apiVersion: "v2" },
    ])
      assert.deepEqual(meshDocuments(other, "default"), []);
  });
});
