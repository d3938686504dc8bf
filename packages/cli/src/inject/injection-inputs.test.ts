/** Templates, values and MeshConfig: of files, of ConfigMaps in files, and those that are built in. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { builtInDocuments, type InjectionConfig, parseInjectionConfig } from "@flotilla/injection";
import { defaultMeshConfig } from "@flotilla/model";
import { type InjectionFiles, readInjectionInputs } from "./injection-inputs.ts";

const directory = mkdtempSync(join(tmpdir(), "injection-inputs-"));
after(() => rmSync(directory, { recursive: true }));
let files = 0;
function file(content: unknown): string {
  const path = join(directory, `${++files}.yaml`);
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}
const none: InjectionFiles = { injectionConfig: undefined, injectionValues: undefined, meshConfig: undefined };
const read = (given: Partial<InjectionFiles>) => readInjectionInputs({ ...none, ...given });
const config = JSON.stringify({ templates: { sidecar: "spec: {}" }, defaultTemplates: ["sidecar"] });
const map = (data: unknown) => file({ kind: "ConfigMap", data });
const own = await builtInDocuments();
/** Without the functions that it carries. */
const plain = (parsed: InjectionConfig): unknown => JSON.parse(JSON.stringify(parsed));

describe("the inputs of an injection without a control plane", () => {
  it("are those of the package where no file is named", async () => {
    const found = await read({});
    assert.deepEqual(plain(found.config), plain(parseInjectionConfig(own.config, own.values)));
    assert.deepEqual(found.mesh, defaultMeshConfig);
  });

  const cases: readonly (readonly [name: string, given: Partial<InjectionFiles>, values: string])[] = [
    ["a file, with the values of the package", { injectionConfig: file(config) }, own.values],
    ["a ConfigMap without values", { injectionConfig: map({ config }) }, own.values],
    ["a ConfigMap with values", { injectionConfig: map({ config, values: '{"a":"map"}' }) }, '{"a":"map"}'],
    [
      "a ConfigMap whose values a file replaces",
      { injectionConfig: map({ config, values: '{"a":"map"}' }), injectionValues: file({ a: "file" }) },
      '{"a":"file"}',
    ],
  ];
  for (const [name, given, values] of cases)
    it(`take templates from ${name}`, async () =>
      assert.deepEqual(plain((await read(given)).config), plain(parseInjectionConfig(config, values))));

  it("take values from a file for the templates of the package", async () => {
    const found = await read({ injectionValues: file({ a: "file" }) });
    assert.deepEqual(plain(found.config), plain(parseInjectionConfig(own.config, '{"a":"file"}')));
  });

  const meshes: readonly (readonly [name: string, path: string])[] = [
    ["a file", file({ rootNamespace: "mesh" })],
    ["a ConfigMap", map({ mesh: "rootNamespace: mesh\n" })],
  ];
  for (const [name, meshConfig] of meshes)
    it(`have the MeshConfig of ${name} above the defaults`, async () =>
      assert.deepEqual((await read({ meshConfig })).mesh, { ...defaultMeshConfig, rootNamespace: "mesh" }));

  it("have the defaults for an empty MeshConfig", async () => {
    for (const meshConfig of [file(""), map({ mesh: "" })])
      assert.deepEqual((await read({ meshConfig })).mesh, defaultMeshConfig);
  });

  const refused: readonly (readonly [name: string, content: unknown, reason: RegExp])[] = [
    ["is no object", "[1]", /^\[CLI_REFUSED\] .*\.yaml: the MeshConfig is no object$/],
    ["is no YAML", "a: [", /^\[CLI_REFUSED\] .*\.yaml: [^\n]+$/],
    ["has a wrong value", { connectTimeout: "soon" }, /^\[CLI_REFUSED\] .*\.yaml: connectTimeout: /],
  ];
  for (const [name, content, message] of refused)
    it(`refuse a MeshConfig that ${name}`, () =>
      assert.rejects(read({ meshConfig: file(content) }), { code: "CLI_REFUSED", message }));
});
