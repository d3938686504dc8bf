import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { createMemoryApi } from "@flotilla/kube-api/memory";
import { serveMemoryApi } from "@flotilla/kube-api/memory-server";
import { parseLocality } from "@flotilla/model";
import { parse } from "yaml";
import { captureFromCore, coreFromCluster, coreFromFiles, madeFromCore, servesAmbient } from "./own-side.ts";
import { withWholeRoutes } from "./whole-routes.ts";

const directory = mkdtempSync(join(tmpdir(), "flotilla-own-side-"));
after(() => rmSync(directory, { recursive: true }));

function file(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

const entry = (name: string, more = "") => `apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: ${name}, namespace: shop${more}}
spec:
  hosts: [same.example]
  addresses: [10.9.0.1]
  ports: [{number: 80, name: http, protocol: HTTP}]
  resolution: STATIC
  endpoints: [{address: 10.0.0.${name === "a" ? 1 : 2}}]
`;
const none = { mesh: undefined, networks: undefined, envFile: undefined };
const node = {
  id: "sidecar~10.0.0.9~app.shop~shop.svc.cluster.local",
  cluster: "",
  metadata: { NAMESPACE: "shop", CLUSTER_ID: "Kubernetes" },
  locality: parseLocality(""),
};

describe("our side of a comparison", () => {
  it("answers every type that a proxy asks for, in the order in which it learns names", () => {
    const captured = captureFromCore(coreFromFiles([file("one.yaml", entry("a"))], none), node);
    assert.deepEqual(
      [...captured.keys()],
      ["cds", "eds", "lds", "nds", "rds", "sds"].filter((type) => captured.has(type)),
    );
    assert.ok(captured.get("cds")?.has("outbound|80||same.example"));
    assert.deepEqual([...(captured.get("eds")?.keys() ?? [])], ["outbound|80||same.example"]);
    assert.ok(captured.get("rds")?.has("80"));
    assert.equal(captured.get("lds")?.get("0.0.0.0_80")?.["name"], "0.0.0.0_80");
    assert.equal(captured.has("ecds"), false);
  });

  it("takes the mesh's configuration and settings from files", () => {
    const mesh = file("mesh.yaml", "connectTimeout: 3s");
    const core = coreFromFiles([file("two.yaml", entry("a"))], { ...none, mesh });
    const cluster = captureFromCore(core, node).get("cds")?.get("outbound|80||same.example");
    assert.equal(cluster?.["connectTimeout"], "3s");
    const http10 = file("http10", "PILOT_HTTP10=true");
    const withHttp10 = coreFromFiles([file("http10.yaml", entry("a"))], { ...none, envFile: http10 });
    assert.match(JSON.stringify(captureFromCore(withHttp10, node).get("lds")?.get("0.0.0.0_80")), /acceptHttp10/);
    const env = file("env", "PILOT_ENABLE_IP_AUTOALLOCATE=x");
    assert.throws(() => coreFromFiles([file("three.yaml", entry("a"))], { ...none, envFile: env }));
  });

  it("takes the older of two objects, and of equally old ones the first by name", () => {
    const addressOf = (text: string) =>
      JSON.stringify([
        ...(captureFromCore(coreFromFiles([file("pair.yaml", text)], none), node)
          .get("eds")
          ?.values() ?? []),
      ]);
    const older = `${entry("a")}---\n${entry("b", ', creationTimestamp: "2020-01-01T00:00:00Z"')}`;
    assert.ok(addressOf(older).includes("10.0.0.2"));
    assert.ok(addressOf(`${entry("b")}---\n${entry("a")}`).includes("10.0.0.1"));
  });

  it("takes the objects of a cluster, with the mesh's configuration of the cluster or of a file", async () => {
    const { spec, metadata } = parse(entry("a"));
    const objects = {
      "/apis/networking.istio.io/v1/namespaces/shop/serviceentries/a": { metadata, spec },
      "/api/v1/namespaces/istio-system/configmaps/istio": {
        ...{ metadata: { name: "istio", namespace: "istio-system" }, data: { mesh: "connectTimeout: 3s" } },
      },
      "/api/v1/namespaces/shop/configmaps/istio": {
        ...{ metadata: { name: "istio", namespace: "shop" }, data: { mesh: "connectTimeout: 9s" } },
      },
    };
    await using cluster = await serveMemoryApi(createMemoryApi(objects));
    const timeoutOf = async (mesh: string | undefined) => {
      const core = await coreFromCluster(cluster.kubeconfig, {}, { ...none, mesh });
      return captureFromCore(core, node).get("cds")?.get("outbound|80||same.example")?.["connectTimeout"];
    };
    assert.equal(await timeoutOf(undefined), "3s");
    assert.equal(await timeoutOf(file("five.yaml", "connectTimeout: 5s")), "5s");
  });

  it("takes a cluster without a configuration of the mesh", async () => {
    await using cluster = await serveMemoryApi(createMemoryApi());
    const core = await coreFromCluster(cluster.kubeconfig, {}, none);
    assert.equal(captureFromCore(core, node).get("cds")?.has("outbound|80||same.example"), false);
  });

  it("shows routes that are sent host by host as the whole that istiod sends", () => {
    const text = ["a", "b", "c"]
      .map(
        (name) => `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: ${name}, namespace: shop}
spec: {hosts: [${name}.example], gateways: [shop/g], http: [{directResponse: {status: 200}}]}
`,
      )
      .concat(`apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: g, namespace: shop}
spec: {selector: {app: edge}, servers: [{port: {number: 80, name: http, protocol: HTTP}, hosts: ["*"]}]}
`)
      .join("---\n");
    const router = {
      ...node,
      id: "router~10.0.0.9~edge.shop~shop.svc.cluster.local",
      metadata: { ...node.metadata, LABELS: { app: "edge" } },
    };
    const captured = (settings: string) =>
      captureFromCore(
        coreFromFiles([file("hosts.yaml", text)], { ...none, envFile: file("scopes", settings) }),
        router,
      );
    const scoped = captured("GATEWAY_SCOPED_ROUTES_ABOVE=2");
    assert.equal(scoped.get("srds")?.size, 3);
    assert.deepEqual(withWholeRoutes(scoped), withWholeRoutes(captured("GATEWAY_SCOPED_ROUTES_ABOVE=0")));
  });

  const ambient = () => ({ ...none, envFile: file("ambient", "PILOT_ENABLE_AMBIENT=true") });
  const workload = { ...{ apiVersion: "v1", kind: "Pod" }, metadata: { name: "api-1", namespace: "shop" } };
  const pod = {
    ...workload,
    spec: { serviceAccountName: "api" },
    status: { phase: "Running", podIP: "10.0.0.7", conditions: [{ type: "Ready", status: "True" }] },
  };
  const ztunnel = { ...node, id: "ztunnel~10.0.0.8~ztunnel-1.istio-system~istio-system.svc.cluster.local" };
  const policy = `apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: {name: callers, namespace: shop}
spec: {rules: [{from: [{source: {namespaces: [shop]}}]}]}
`;

  it("answers a ztunnel with workloads, services and policies, and knows their objects", () => {
    const text = `${entry("a")}---\n${policy}---\n${JSON.stringify(pod)}\n`;
    const core = coreFromFiles([file("ambient.yaml", text)], ambient());
    const captured = captureFromCore(core, ztunnel);
    const wds = ["shop/same.example", "Kubernetes//Pod/shop/api-1"];
    const entryWorkload = "Kubernetes/networking.istio.io/ServiceEntry/shop/a/10.0.0.1";
    assert.deepEqual([...captured.keys()], ["wds", "wads"]);
    assert.deepEqual([...(captured.get("wds")?.keys() ?? [])].toSorted(), [...wds, entryWorkload].toSorted());
    assert.deepEqual([...(captured.get("wads")?.keys() ?? [])], ["shop/callers"]);
    const madeFrom = madeFromCore(core, ztunnel);
    assert.ok(madeFrom("wds", "shop/same.example").includes("ServiceEntry/shop/a"));
    assert.ok(madeFrom("wds", "Kubernetes//Pod/shop/api-1").includes("Pod/shop/api-1"));
    assert.ok(madeFrom("wads", "shop/callers").includes("AuthorizationPolicy/shop/callers"));
    assert.deepEqual(madeFrom("unknown", "shop/same.example"), []);
  });

  it("serves an ambient mesh with its setting only, from files and from a cluster", async () => {
    assert.deepEqual([servesAmbient(none), servesAmbient(ambient())], [false, true]);
    const without = captureFromCore(coreFromFiles([file("pod.json", JSON.stringify(pod))], none), ztunnel);
    assert.equal(without.get("wds")?.size, 0);
    await using cluster = await serveMemoryApi(createMemoryApi({ "/api/v1/namespaces/shop/pods/api-1": pod }));
    const core = await coreFromCluster(cluster.kubeconfig, {}, ambient());
    assert.deepEqual([...(captureFromCore(core, ztunnel).get("wds")?.keys() ?? [])], ["Kubernetes//Pod/shop/api-1"]);
  });

  it("refuses files without objects, and a cluster without a kubeconfig", async () => {
    assert.throws(() => coreFromFiles([file("list.yaml", "kind: VirtualService\nmetadata: {name: x}\n")], none), {
      code: "CLI_REFUSED",
      message: /is no object of Kubernetes/,
    });
    await assert.rejects(coreFromCluster(join(directory, "no-config"), {}, none), {
      code: "CLI_USAGE",
      message: /a kubeconfig is needed: there is no file .*no-config/,
    });
    await assert.rejects(coreFromCluster(undefined, { KUBECONFIG: join(directory, "other") }, none), /no file .*other/);
  });
});
