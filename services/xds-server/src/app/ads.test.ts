import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { apiNamespaceOf } from "./ads.ts";

describe("the namespace whose identities may ask for configuration", () => {
  const namespace = "control";
  for (const [is, apiAuth, rootNamespace, expected] of [
    ["is the mesh's root", true, "root", "root"],
    ["is the service's own where the mesh names no root", true, "", "control"],
    ["is none where no identity is asked for", false, "root", undefined],
  ] as const)
    it(is, () => assert.equal(apiNamespaceOf({ apiAuth, namespace }, rootNamespace), expected));
});
