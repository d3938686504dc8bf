/** Fields that all clusters of a proxy have in common, as settings of the control plane and the proxy itself have them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Core } from "../../app/core.ts";
import { parseFeatures } from "../../snapshot/features.ts";
import { aSidecar } from "../../testing/mesh.ts";
import { clusterTraits } from "./cluster-traits.ts";

function traitsOf(env: Readonly<Record<string, string>>, extensions?: ReadonlySet<string>) {
  const core = new Core({ features: parseFeatures(env) });
  const sidecar = aSidecar("shop");
  return core.read(clusterTraits, core.subjectOf(extensions === undefined ? sidecar : { ...sidecar, extensions }));
}

const stock: ReadonlySet<string> = new Set();
const cases: readonly (readonly [name: string, env: Readonly<Record<string, string>>, is: object])[] = [
  ["peers exchange metadata, and offer so", {}, { exchangesMetadata: true, offersPeerExchange: true }],
  [
    "they do so without offering it",
    { PILOT_DISABLE_MX_ALPN: "true" },
    { exchangesMetadata: true, offersPeerExchange: false },
  ],
  [
    "they exchange none",
    { PILOT_ENABLE_METADATA_EXCHANGE: "false" },
    { exchangesMetadata: false, offersPeerExchange: false },
  ],
  [
    "labels are exchanged once each, in order",
    { PILOT_MX_ADDITIONAL_LABELS: "b,a,b" },
    { exchangedLabels: ["a", "b"] },
  ],
];

describe("traits of all clusters", () => {
  for (const [name, env, is] of cases)
    it(name, () => {
      const traits = traitsOf(env);
      assert.deepEqual({ ...traits, ...is }, traits);
    });
  it("of an Envoy without Istio's extensions exchange nothing", () => {
    const { exchangesMetadata, offersPeerExchange } = traitsOf({}, stock);
    assert.deepEqual([exchangesMetadata, offersPeerExchange], [false, false]);
  });
});
