/** `flotilla compare` beside a control plane within the process that sends one sidecar what its mesh is. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type NodeInfo, parseNode } from "@flotilla/model";
import { typeUrl } from "@flotilla/proto";
import { nameSet } from "@flotilla/xds";
import { startTestServer, type TestServer } from "@flotilla/xds-server/testing";
import { captureFromCore, coreFromFiles } from "../compare/own-side.ts";
import { recordRun } from "../recorded-run.fixture.ts";

const meshOf = (percent: number) => `apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: web, namespace: shop}
spec:
  hosts: [web.example]
  addresses: [10.9.0.1]
  ports: [{number: 80, name: http, protocol: HTTP}]
  resolution: STATIC
  endpoints: [{address: 10.0.0.2}]
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: web, namespace: shop}
spec:
  hosts: [web.example]
  http: [{fault: {abort: {httpStatus: 503, percentage: {value: ${percent}}}}, route: [{destination: {host: web.example}}]}]
`;
const metadata = { NAMESPACE: "shop", LABELS: { app: "web" }, INSTANCE_IPS: "10.0.0.1", CLUSTER_ID: "Kubernetes" };
const noMesh = { mesh: undefined, networks: undefined, envFile: undefined };

/** Serves what the sidecar gets of the files. */
async function serve(files: string): Promise<TestServer> {
  const server = await startTestServer();
  const core = coreFromFiles([files], noMesh);
  const info: NodeInfo = {
    id: "sidecar~10.0.0.1~web.shop~shop.svc.cluster.local",
    locality: { region: "", zone: "", subzone: "" },
    metadata,
  };
  const subject = { ...core.subjectOf(parseNode(info)), isProven: true };
  const named = captureFromCore(core, info);
  const types = { cds: typeUrl.cluster, lds: typeUrl.listener, eds: typeUrl.endpoint, rds: typeUrl.route };
  for (const [short, type] of Object.entries(types)) {
    const names = short === "cds" || short === "lds" ? undefined : nameSet([...(named.get(short)?.keys() ?? [])]);
    server.source.put(type, [...(core.resources(subject, type, names)?.byName.values() ?? [])]);
  }
  return server;
}

describe("flotilla compare", () => {
  const root = mkdtempSync(join(tmpdir(), "compare-"));
  const file = (name: string, text: string): string => {
    writeFileSync(join(root, name), text);
    return join(root, name);
  };
  const [same, other] = [file("same.yaml", meshOf(1)), file("other.yaml", meshOf(2))];
  const status = ["sidecar", "agentgateway", "agentgateway", "other"].map((type, i) => ({
    proxy: i === 0 ? "web.shop" : `${type}${i}.shop`,
    proxy_type: type,
  }));
  const nodes = file(
    "adsz.json",
    JSON.stringify({ clients: status.map(({ proxy }) => ({ connectionId: `${proxy}-1`, metadata })) }),
  );
  const types = file("syncz.json", JSON.stringify(status));
  let server: TestServer;

  before(async () => {
    server = await serve(same);
  });
  after(async () => {
    await server[Symbol.asyncDispose]();
    rmSync(root, { recursive: true, force: true });
  });

  const compare = (...args: readonly string[]) =>
    recordRun(["compare", "--istiod", server.address, "--proxies", nodes, "--proxies", types, ...args]);

  for (const [name, side] of [
    ["the same files", () => ["-f", same]],
    ["the same control plane", () => ["--flotilla", server.address]],
  ] as const)
    it(`finds nothing beside ${name}, and counts what it does not compare`, async () => {
      const { code, out, err } = await compare("--all", ...side());
      assert.deepEqual([code, err], [0, ""]);
      assert.match(out, /^1 of 1 proxies identical, (\d+) of \1 resources$/m);
      assert.match(out, /^not compared: 2 of type agentgateway, 1 of type other$/m);
    });

  it("finds what differs, with the object behind it", async () => {
    const { code, out } = await compare("--proxy", "web.shop", "-f", other);
    assert.equal(code, 1);
    assert.match(out, /web\.shop rds 80 differs: VirtualService\/web\.shop/);
    assert.match(out, /^0 of 1 proxies identical/m);
  });

  it("prints the comparison as JSON and as SARIF", async () => {
    const json = await compare("--all", "-f", other, "-o", "json");
    assert.deepEqual(Object.keys(JSON.parse(json.out)), ["proxies", "notCompared"]);
    const sarif = JSON.parse((await compare("--all", "-f", other, "-o", "sarif")).out);
    assert.equal(sarif.version, "2.1.0");
    assert.equal(sarif.runs[0].results.length, 1);
  });

  const wrong: readonly (readonly [name: string, args: readonly string[], code: number, says: RegExp])[] = [
    ["without a side of its own", ["--all"], 2, /one of -f DIR, --kube and --flotilla/],
    ["with two sides of its own", ["--all", "-f", same, "--flotilla", "127.0.0.1:1"], 2, /one of -f DIR/],
    ["without proxies", ["-f", same], 2, /--all or --proxy/],
    ["with all proxies and one by name", ["--all", "--proxy", "web.shop", "-f", same], 2, /--all or --proxy/],
    [
      "for a proxy that is not connected",
      ["--proxy", "api.shop", "-f", same],
      1,
      /no proxy api\.shop; it has .*web\.shop/,
    ],
    ["for a proxy that it cannot compare", ["--proxy", "other3.shop", "-f", same], 1, /no proxy was compared/],
  ];
  for (const [name, args, code, says] of wrong)
    it(`names what is wrong ${name}`, async () => {
      const found = await compare(...args);
      assert.match(found.err, says);
      assert.equal(found.code, code);
    });

  it("needs an istiod", async () => {
    const { code, err } = await recordRun(["compare", "--all", "-f", same]);
    assert.deepEqual([code, /--istiod HOST:PORT/.test(err)], [2, true]);
  });
});
