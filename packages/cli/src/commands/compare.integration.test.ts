/** `flotilla compare` against a control plane that runs: equal meshes are identical, each planted difference is found. */
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { recordRun } from "../recorded-run.fixture.ts";
import type { ControlPlane } from "../supervise/control-plane.ts";
import { addressOf, changedInput, proxiesIn, scenarios, startPlane } from "./compare-plane.fixture.ts";

const rollout = join(scenarios, "virtualservice/rollout/input");
const gateway = `apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop}
spec:
  selector: {app: web}
  servers: [{port: {number: 80, name: http, protocol: HTTP}, hosts: [shop.example]}]
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: edge, namespace: shop}
spec:
  hosts: [shop.example]
  gateways: [edge]
  http: [{route: [{destination: {host: reviews.shop.svc.cluster.local}}]}]
`;
const metadata = {
  NAMESPACE: "shop",
  LABELS: { app: "web", version: "v1" },
  INSTANCE_IPS: "10.244.25.15",
  CLUSTER_ID: "Kubernetes",
};

describe("flotilla compare", () => {
  const root = mkdtempSync(join(tmpdir(), "compare-"));
  const input = join(root, "input");
  let plane: ControlPlane;
  let address: string;
  let listed: readonly string[];

  before(async () => {
    cpSync(rollout, input, { recursive: true });
    writeFileSync(join(input, "gateway.yaml"), gateway);
    plane = await startPlane(root);
    address = addressOf(plane);
    listed = proxiesIn(root, [
      { name: "web.shop", type: "sidecar", metadata },
      { name: "gateway.shop", type: "router", metadata },
      { name: "agent.shop", type: "agentgateway", metadata },
    ]);
  });
  after(async () => {
    await plane?.[Symbol.asyncDispose]();
    rmSync(root, { recursive: true, force: true });
  });

  const compare = (...args: readonly string[]) => recordRun(["compare", "--istiod", address, ...listed, ...args]);

  it("finds nothing where both hold the same, from files and over the wire", async () => {
    for (const side of [
      ["-f", input],
      ["--flotilla", address],
    ]) {
      const { code, out, err } = await compare("--all", ...side);
      assert.equal(err, "");
      assert.match(out, /2 of 2 proxies identical, (\d+) of \1 resources\nnot compared: 1 of type agentgateway/);
      assert.equal(code, 0);
    }
  });

  const planted = [
    {
      name: "a weight",
      from: "weight: 100",
      to: "weight: 60",
      finds: /rds 80 differs: VirtualService\/reviews\.shop\n.*weight/,
    },
    {
      name: "a subset",
      from: "name: v2,",
      to: "name: v3,",
      finds: /cds outbound\|80\|v3\|reviews\S+ is sent by flotilla alone/,
    },
    { name: "a host", from: "hosts: [reviews]", to: "hosts: [ratings]", finds: /rds 80 differs: / },
  ];
  for (const { name, from, to, finds } of planted) {
    it(`finds ${name} that differs`, async () => {
      const folder = changedInput(input, { name, file: "config.yaml", from, to });
      const { code, out } = await compare("--proxy", "web.shop", "-f", folder);
      assert.match(out, finds);
      assert.equal(code, 1);
      const sarif = JSON.parse((await compare("--all", "-f", folder, "-o", "sarif")).out);
      assert.ok(sarif.runs[0].results.length > 0);
    });
  }

  it("finds another host of a Gateway on its router", async () => {
    const folder = join(root, "gateway");
    cpSync(input, folder, { recursive: true });
    writeFileSync(join(folder, "gateway.yaml"), gateway.replaceAll("[shop.example]", "[store.example]"));
    const { code, out } = await compare("--proxy", "gateway.shop", "-f", folder);
    assert.match(out, /gateway.shop rds http\.8080 differs: VirtualService\/edge\.shop/);
    assert.equal(code, 1);
  });

  const wrong = [
    { name: "without a side of its own", args: ["--all"], code: 2, says: /one of -f DIR, --kube and --flotilla/ },
    { name: "without proxies", args: ["-f", input], code: 2, says: /--all or --proxy/ },
    {
      name: "for a proxy that is not connected",
      args: ["--proxy", "api.shop", "-f", input],
      code: 1,
      says: /no proxy api\.shop/,
    },
  ];
  for (const { name, args, code, says } of wrong) {
    it(`says what is wrong ${name}`, async () => {
      const found = await compare(...args);
      assert.match(found.err, says);
      assert.equal(found.code, code);
    });
  }

  it("says that nothing answers", async () => {
    const { code, err } = await recordRun(["compare", "--istiod", "127.0.0.1:1", "--all", "-f", input]);
    assert.match(err, /127\.0\.0\.1:1 does not list its proxies: .*ECONNREFUSED/);
    assert.equal(code, 4);
  });
});
