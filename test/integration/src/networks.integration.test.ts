/** Two clusters on networks of their own, as proxies of either see them. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type RunningApiserver, startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import { until } from "@flotilla/runtime";
import { EndpointWatcher } from "./clusters/endpoint-watcher.ts";
import { type Fleet, startFleet } from "./clusters/fleet.ts";
import {
  credentials,
  exportService,
  gatewayOfNetwork,
  namespace,
  networkGateway,
  pod,
  service,
  setRemoteSecret,
  sliceOfPods,
} from "./clusters/remote-cluster.ts";

const own: RunningApiserver | undefined = await startKubeApiserver(process.env);
const remote: RunningApiserver | undefined = own && (await startKubeApiserver(process.env));
const web = "outbound|80||web.shop.svc.cluster.local";
const api = "outbound|80||api.shop.svc.cluster.local";
const entry = "outbound|80||everywhere.example";

describe("clusters on several networks", { skip: own === undefined && whyNoApiserver }, () => {
  const owned = new AsyncDisposableStack();
  let fleet: Fleet;
  const watchers = new Map<string, EndpointWatcher>();

  before(async () => {
    assert.ok(own !== undefined && remote !== undefined);
    owned.use(own);
    owned.use(remote);
    const clusters = [
      { server: own, network: "net-1", gateway: "192.0.2.1", first: "10.1.0" },
      { server: remote, network: "net-2", gateway: "192.0.2.2", first: "10.2.0" },
    ];
    for (const { server, network, gateway, first } of clusters) {
      await namespace(server.api, "istio-system", { "topology.istio.io/network": network });
      await namespace(server.api, "shop");
      for (const name of ["web", "api"]) {
        await service(server.api, { name, addresses: [] });
        const pods = { [`${name}-1`]: `${first}.1`, [`${name}-2`]: `${first}.2` };
        for (const [podName, ip] of Object.entries(pods)) await pod(server.api, podName, ip, { app: name });
        await sliceOfPods(server.api, name, pods);
      }
      await networkGateway(server.api, network, gateway);
    }
    fleet = owned.use(await startFleet());
    await setRemoteSecret(own.api, "east", await credentials(remote, "reader"));
    owned.use(await fleet.startServiceController("one", { CLUSTER_KUBECONFIG: own.kubeconfig }));
    for (const [cluster, network] of [
      ["Kubernetes", "net-1"],
      ["east", "net-2"],
    ] as const) {
      const metadata = { CLUSTER_ID: cluster, NETWORK: network };
      const watcher = new EndpointWatcher({ xdsAddress: fleet.xdsAddress, clusters: [web, api, entry], metadata });
      watchers.set(cluster, owned.use(watcher));
    }
  });
  after(() => owned.disposeAsync());

  function sees(cluster: string, target: string, ...expected: readonly string[]): Promise<unknown> {
    return until(
      () => {
        const endpoints = watchers.get(cluster)?.endpointsOf(target) ?? [];
        if (endpoints.join() === expected.join()) return true;
        throw new Error(`it has ${endpoints}`);
      },
      { withinMs: 60_000, what: `${cluster} to see ${expected} of ${target}` },
    );
  }

  it("endpoints of the other network stand behind the gateway that its cluster labels, with their weight", async () => {
    await sees("Kubernetes", web, "10.1.0.1:8080", "10.1.0.2:8080", "192.0.2.2:15443*2");
    await sees("east", web, "10.2.0.1:8080", "10.2.0.2:8080", "192.0.2.1:15443*2");
  });

  it("a Gateway of the other cluster that names its address leads there too", async () => {
    assert.ok(remote !== undefined);
    const remove = await gatewayOfNetwork(remote.api, "net-2", "192.0.2.22");
    const both = ["192.0.2.22:15443*2", "192.0.2.2:15443*2"];
    await sees("Kubernetes", api, "10.1.0.1:8080*2", "10.1.0.2:8080*2", ...both);
    await remove();
    await sees("Kubernetes", api, "10.1.0.1:8080", "10.1.0.2:8080", "192.0.2.2:15443*2");
  });

  it("a ServiceEntry selects pods of both clusters", async () => {
    const spec = {
      hosts: ["everywhere.example"],
      ports: [{ number: 80, name: "http", protocol: "HTTP" }],
      resolution: "STATIC",
      workloadSelector: { labels: { app: "web" } },
    };
    const metadata = { name: "everywhere", namespace: "shop" };
    const object = { apiVersion: "networking.istio.io/v1", kind: "ServiceEntry", metadata, spec };
    await writeFile(join(fleet.configDirectory, "entry.json.yaml"), JSON.stringify(object));
    await sees("Kubernetes", entry, "10.1.0.1:80", "10.1.0.2:80", "192.0.2.2:15443*2");
    await sees("east", entry, "10.2.0.1:80", "10.2.0.2:80", "192.0.2.1:15443*2");
  });

  it("a service that is set to be local to clusters has endpoints of the caller's cluster only", async () => {
    const settings = [{ settings: { clusterLocal: true }, hosts: ["web.shop.svc.cluster.local"] }];
    await writeFile(fleet.meshFile, JSON.stringify({ serviceSettings: settings }));
    await sees("Kubernetes", web, "10.1.0.1:8080", "10.1.0.2:8080");
    await sees("east", web, "10.2.0.1:8080", "10.2.0.2:8080");
    await sees("east", api, "10.2.0.1:8080", "10.2.0.2:8080", "192.0.2.1:15443*2");
  });

  it("with MCS service discovery a cluster sees of another what that exports", async () => {
    assert.ok(own !== undefined && remote !== undefined);
    const settings = { ENABLE_MCS_SERVICE_DISCOVERY: "true" };
    await using discovering = await startFleet(settings);
    await using _ = await discovering.startServiceController("mcs", {
      CLUSTER_KUBECONFIG: own.kubeconfig,
      ...settings,
    });
    const metadata = { CLUSTER_ID: "Kubernetes", NETWORK: "net-1" };
    await using watcher = new EndpointWatcher({ xdsAddress: discovering.xdsAddress, clusters: [web], metadata });
    watchers.set("mcs", watcher);
    // Neither API server serves ServiceExports yet.
    await sees("mcs", web, "10.1.0.1:8080", "10.1.0.2:8080");
    await exportService(remote.api, "web");
    await sees("mcs", web, "10.1.0.1:8080", "10.1.0.2:8080", "192.0.2.2:15443*2");
  });
});
