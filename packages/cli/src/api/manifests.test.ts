import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { kindArgument } from "./kind-argument.ts";
import { parseManifests, readManifests } from "./manifests.ts";

describe("manifests", () => {
  it("are reported with the lines they begin at, items of lists with that of their list", () => {
    const text = "# first\nkind: A\n---\n---\nkind: List\nitems: [{kind: B}, {kind: C}]\n";
    const found = parseManifests("x.yaml", text).map(({ place, object }) => `${place} ${String(object["kind"])}`);
    assert.deepEqual(found, ["x.yaml:2 A", "x.yaml:5 B", "x.yaml:5 C"]);
    assert.deepEqual(parseManifests("x.yaml", ""), []);
  });

  it("that cannot be read are refused with their lines", () => {
    assert.throws(() => parseManifests("x.yaml", "a: 1\n---\nb: [\n"), {
      code: "CLI_REFUSED",
      message: /x\.yaml:4: [^\n]*[^:]$/,
    });
    assert.throws(() => parseManifests("x.yaml", "- a\n"), { message: /x\.yaml:1: is no object/ });
  });

  it("of a directory are those of its YAML and JSON files, in order", () => {
    const directory = mkdtempSync(join(tmpdir(), "manifests-"));
    writeFileSync(join(directory, "b.yaml"), "kind: B\n");
    writeFileSync(join(directory, "a.json"), '{"kind": "A"}');
    writeFileSync(join(directory, "note.txt"), "no object");
    assert.deepEqual(
      readManifests([directory]).map(({ object }) => object["kind"]),
      ["A", "B"],
    );
    rmSync(directory, { recursive: true });
    assert.throws(() => readManifests([directory]), { code: "CLI_USAGE" });
  });
});

describe("kinds as people name them", () => {
  for (const [text, name] of Object.entries({
    vs: "VirtualService",
    virtualservices: "VirtualService",
    VirtualService: "VirtualService",
    gateway: "Gateway",
    "gateways.gateway.networking.k8s.io": "KubernetesGateway",
    cm: "ConfigMap",
  }))
    it(`${text} is ${name}`, () => assert.equal(kindArgument(text).name, name));

  for (const [text, message] of Object.entries({
    virtualservce: /"virtualservce" is no kind that is known here; did you mean VirtualService\?/,
    widget: /"widget" is no kind that is known here$/,
    "vs/reviews": /give kind and name as two words, as in vs reviews$/,
    "vs,dr": /one kind at a time/,
  }))
    it(`${text} is refused`, () => assert.throws(() => kindArgument(text), { code: "CLI_USAGE", message }));
});
