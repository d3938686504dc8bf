/** `flotilla compare` as a waypoint and a ztunnel, against a control plane that runs. */
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { parse } from "yaml";
import { recordRun } from "../recorded-run.fixture.ts";
import type { ControlPlane } from "../supervise/control-plane.ts";
import { addressOf, type Client, changedInput, proxiesIn, scenarios, startPlane } from "./compare-plane.fixture.ts";

const policy = `apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: {name: callers, namespace: amb}
spec:
  selector: {matchLabels: {app: none}}
  rules: [{from: [{source: {namespaces: [side]}}]}]
`;
const backend = "name: api-v2, port: 80, weight: 1}";

describe("flotilla compare of an ambient mesh", () => {
  const root = mkdtempSync(join(tmpdir(), "compare-ambient-"));
  const [input, env] = [join(root, "input"), join(root, "env")];
  let plane: ControlPlane;
  let address: string;
  let listed: readonly string[];

  before(async () => {
    const scenario = join(scenarios, "ambient/waypoint");
    cpSync(join(scenario, "input"), input, { recursive: true });
    const config = readFileSync(join(input, "config.yaml"), "utf8");
    const split = `${backend}, {group: "", kind: Service, name: api, port: 80, weight: 3}`;
    writeFileSync(join(input, "config.yaml"), config.replace(backend, split));
    writeFileSync(join(input, "policy.yaml"), policy);
    writeFileSync(env, "PILOT_ENABLE_AMBIENT=true\n");
    plane = await startPlane(root, { PILOT_ENABLE_AMBIENT: "true" });
    address = addressOf(plane);
    const { proxies } = parse(readFileSync(join(scenario, "scenario.yaml"), "utf8"));
    const clients = (proxies as readonly Client[]).map(({ type, metadata: own }) => ({
      ...{ name: `${own["NAME"]}.${own["NAMESPACE"]}`, type },
      metadata: { ...own, CLUSTER_ID: "Kubernetes" },
    }));
    listed = proxiesIn(root, clients);
  });
  after(async () => {
    await plane?.[Symbol.asyncDispose]();
    rmSync(root, { recursive: true, force: true });
  });

  const compare = (...args: readonly string[]) => recordRun(["compare", "--istiod", address, ...listed, ...args]);

  for (const [name, side] of [
    ["from files", () => ["-f", input, "--env-file", env]],
    ["over the wire", () => ["--flotilla", address]],
  ] as const)
    it(`finds nothing where both hold the same, ${name}`, async () => {
      const { code, out, err } = await compare("--all", ...side());
      assert.deepEqual([code, err], [0, ""]);
      assert.match(out, /^ztunnel-c20cf\.istio-system +12\/12 +0$/m);
      assert.match(out, /^waypoint-718aaa4f5-b8f1a\.amb +17\/17 +0$/m);
      assert.match(out, /^3 of 3 proxies identical, (\d+) of \1 resources$/m);
      assert.doesNotMatch(out, /not compared/);
    });

  const pod = "api-v2-v1-2e828db7a-879b2";
  const planted = [
    {
      ...{ name: "a pod that is gone", file: "cluster.yaml", proxy: "ztunnel-c20cf.istio-system" },
      ...{ from: `kind: Pod\nmetadata:\n  name: ${pod}`, to: `kind: Unknown\nmetadata:\n  name: ${pod}` },
      finds: new RegExp(`wds Kubernetes//Pod/amb/${pod} is sent by istiod alone: Pod/${pod}\\.amb`),
    },
    {
      ...{ name: "a policy of ztunnel", file: "policy.yaml", proxy: "ztunnel-c20cf.istio-system" },
      ...{ from: "namespaces: [side]", to: "namespaces: [other]" },
      finds: /wads amb\/callers differs: AuthorizationPolicy\/callers\.amb\n.*namespaces\[0\]/,
    },
    {
      ...{ name: "a weight at the waypoint", file: "config.yaml", proxy: "waypoint-718aaa4f5-b8f1a.amb" },
      ...{ from: "weight: 3", to: "weight: 4" },
      finds: /lds main_internal differs: HTTPRoute\/r\.amb\n.*weightedClusters\.clusters\[1\]\.weight\n +istiod +3\n/,
    },
  ];
  for (const { name, file, from, to, proxy, finds } of planted) {
    it(`finds ${name}`, async () => {
      const folder = changedInput(input, { name, file, from, to });
      const { code, out } = await compare("--proxy", proxy, "-f", folder, "--env-file", env);
      assert.match(out, finds);
      assert.match(out, /^0 of 1 proxies identical/m);
      assert.equal(code, 1);
    });
  }

  it("names the setting without which Flotilla serves no ambient mesh", async () => {
    const { code, out, err } = await compare("--proxy", "ztunnel-c20cf.istio-system", "-f", input);
    assert.match(err, /PILOT_ENABLE_AMBIENT=true: give it in --env-file/);
    assert.match(out, /wds amb\/api\.amb\.svc\.cluster\.local is sent by istiod alone: Service\/api\.amb/);
    assert.equal(code, 1);
  });
});
