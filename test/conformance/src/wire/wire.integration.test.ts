/** A quarter of the claimed scenarios over the wire: both forms, with and without TLS, on streams that stay open over all steps. */
import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { isClaimed } from "../claims.ts";
import { loadScenarios, readRules } from "../scenarios/load.ts";
import { compareCapture } from "../scenarios/run.ts";
import { openEmbedded } from "./plane.ts";
import { recordOverWire } from "./record-wire.ts";
import { runOverWire, wireLimits } from "./run-wire.ts";

const root = join(dirname(fileURLToPath(import.meta.url)), "../../scenarios");

/** All with steps, those with Secrets or settings of the control plane, and some of each group. */
const quarter = [
  "destinationrule/subsets",
  "destinationrule/tls-modes",
  "gateway-api/mesh-routes",
  "locality/two-networks",
  "mesh/feature-flags",
  "mesh/hot-reload",
  "mesh/scoping-defaults",
  "security/authorization-actions",
  "security/policy-lifecycle",
  "security/trust-domains",
  "serviceentry/dns",
  "serviceentry/workload-selector",
  "services/endpoint-health",
  "services/headless-tcp",
  "services/lifecycle",
  "services/persistent-session",
  "sidecar-resource/lifecycle",
  "telemetry/filters-and-modes",
  "virtualservice/match-uri-headers",
  "virtualservice/rollout",
];

describe("a recording", () => {
  it("writes down what is expected of each stage", async () => {
    const [scenario] = loadScenarios(root, ["virtualservice/rollout"]);
    assert.ok(scenario !== undefined);
    const recorded = await recordOverWire(scenario, openEmbedded, 200);
    const rules = readRules(root);
    const compared = scenario.stages.flatMap(({ title: stage, expected }, index) =>
      compareCapture(
        { proxy: "web", stage },
        expected.get("web") ?? new Map(),
        recorded[index]?.get("web") ?? new Map(),
        rules,
      ),
    );
    assert.equal(compared.length, 72);
    assert.deepEqual(
      compared.filter(({ outcome }) => outcome !== "equal"),
      [],
    );
  });
});

describe("a running control plane", () => {
  const rules = readRules(root);
  for (const scenario of loadScenarios(root, quarter)) {
    it(`sends what istiod sends in ${scenario.group}/${scenario.name}, and nothing twice`, async () => {
      const result = await runOverWire(scenario, {
        ...{ ...wireLimits, open: openEmbedded, forms: ["sotw", "delta"], rules },
        wants: (proxy) => isClaimed(scenario, proxy),
      });
      if (result.error !== undefined) throw result.error;
      const wrong = result.resources.filter(({ outcome }) => outcome !== "equal");
      assert.deepEqual(wrong, []);
      assert.deepEqual(result.resent, []);
      assert.equal(result.stages, scenario.stages.length);
      assert.ok(result.resources.length > 0);
    });
  }
});
