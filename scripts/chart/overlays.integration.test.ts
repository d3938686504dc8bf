/** kubectl builds every overlay, whatever version of kustomize it has. KUBECTL names the program. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { root } from "../deployment/files.ts";
import { keyOf, type ManifestObject, parseObjects } from "./kustomize.ts";

const kubectl = process.env["KUBECTL"] ?? "kubectl";
const isThere = spawnSync(kubectl, ["version", "--client"]).status === 0;
const skip = !isThere && "this host has no kubectl (KUBECTL, or kubectl on PATH): the overlays were NOT tested";

const overlays = join(root, "k8s/overlays");

function build(overlay: string): readonly ManifestObject[] {
  return parseObjects(execFileSync(kubectl, ["kustomize", join(overlays, overlay)], { encoding: "utf8" }));
}

describe("overlays", { skip }, () => {
  for (const overlay of readdirSync(overlays))
    it(`${overlay} has the Deployments of all services`, () => {
      const deployments = build(overlay).filter(({ kind }) => kind === "Deployment");
      assert.ok(deployments.length >= 5, deployments.map(keyOf).join());
    });

  it("takeover has nothing that is Istio's", () => {
    const istios = ["Namespace/istio-system", "Service/istiod"];
    const keys = build("takeover").map(keyOf);
    assert.deepEqual(
      keys.filter((key) => istios.includes(key) || key.includes("WebhookConfiguration/")),
      [],
    );
  });
});
