/** EXTENSION_CONFIG patches: what a filter that a proxy asks for by name is configured with. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import { aKubeMesh, anEntry, anObject, fieldAt, inShort } from "../../testing/kube-mesh.ts";
import { aSidecar, resourceOf } from "../../testing/mesh.ts";

const lua = (inlineString: string) => ({
  "@type": "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua",
  defaultSourceCode: { inlineString },
});

function configOf(operation: string, name: string, more: JsonObject = {}): string {
  const patch = { operation, value: { name: "own", typed_config: lua("-- own") } };
  const filter = anObject("EnvoyFilter", "shop/f", {
    configPatches: [{ applyTo: "EXTENSION_CONFIG", patch, ...more }],
  });
  const core = aKubeMesh([anEntry("a"), filter]);
  const found = resourceOf(core, aSidecar("shop"), typeUrl.extensionConfig, name);
  return inShort(fieldAt(found, "typedConfig.defaultSourceCode.inlineString"));
}

describe("the config of an extension", () => {
  for (const [name, operation, asked, is] of [
    ["is what a patch adds", "ADD", "own", "-- own"],
    ["is of the name that is asked for", "ADD", "other", "none"],
    ["is not what another operation has", "MERGE", "own", "none"],
  ] as const)
    it(name, () => assert.equal(configOf(operation, asked), is));
});
