/** Several clusters as a connected proxy sees them: credentials that change, clusters that are away, clusters that go. */
import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type RunningApiserver, startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import { until } from "@flotilla/runtime";
import { EndpointWatcher } from "./clusters/endpoint-watcher.ts";
import { type Controller, type Fleet, startFleet } from "./clusters/fleet.ts";
import {
  credentials,
  defineWorkloadEntries,
  deleteRemoteSecret,
  machine,
  namespace,
  revoke,
  selectingService,
  service,
  setAddresses,
  setRemoteSecret,
  workloadEntries,
} from "./clusters/remote-cluster.ts";

const own: RunningApiserver | undefined = await startKubeApiserver(process.env);
const remote: RunningApiserver | undefined = own && (await startKubeApiserver(process.env));
/** Each begins when the proxy has the change of the one before. */
const rotations = 60;
const web = "outbound|80||web.shop.svc.cluster.local";

/** Of the own cluster. */
const machinesEntry = {
  apiVersion: "networking.istio.io/v1",
  kind: "ServiceEntry",
  metadata: { name: "machines", namespace: "shop" },
  spec: {
    hosts: ["machines.example"],
    ports: [{ number: 80, name: "http", protocol: "HTTP" }],
    resolution: "STATIC",
    workloadSelector: { labels: { app: "vm" } },
  },
};

interface ClusterPage {
  readonly id: string;
  readonly syncStatus: string;
  readonly secretName: string;
  readonly awaySeconds?: number;
  readonly reason?: string;
}

describe("several clusters", { skip: own === undefined && whyNoApiserver }, () => {
  const owned = new AsyncDisposableStack();
  let fleet: Fleet;
  let controller: Controller;
  let proxy: EndpointWatcher;
  const servers = (): readonly [RunningApiserver, RunningApiserver] => {
    assert.ok(own !== undefined && remote !== undefined);
    return [own, remote];
  };
  const proxyHas = (...addresses: readonly string[]) =>
    until(
      () => {
        const has = proxy.endpointsOf(web);
        if (has.join() === addresses.map((address) => `${address}:8080`).join()) return true;
        throw new Error(`it has ${has}`);
      },
      { withinMs: 60_000, what: `the proxy to have ${addresses}` },
    );

  before(async () => {
    const [home, east] = servers();
    owned.use(home);
    for (const { api } of [home, east]) for (const name of ["istio-system", "shop"]) await namespace(api, name);
    await service(home.api, { addresses: ["10.1.0.1"] });
    await service(east.api, { addresses: ["10.2.0.1", "10.2.0.2"] });
    fleet = owned.use(await startFleet());
    controller = await fleet.startServiceController("one", { CLUSTER_KUBECONFIG: home.kubeconfig });
    proxy = owned.use(new EndpointWatcher({ xdsAddress: fleet.xdsAddress, clusters: [web] }));
  });
  after(async () => {
    await owned.disposeAsync();
    await remote?.[Symbol.asyncDispose]();
  });

  it("credentials that change again and again, the old ones revoked, take no endpoint from a connected proxy", async () => {
    const [home, east] = servers();
    await setRemoteSecret(home.api, "east", await credentials(east, "reader-0"));
    await proxyHas("10.1.0.1", "10.2.0.1", "10.2.0.2");
    proxy.forget();
    for (let round = 1; round <= rotations; round++) {
      await setRemoteSecret(home.api, "east", await credentials(east, `reader-${round}`));
      await revoke(east.api, `reader-${round - 1}`);
      await setAddresses(east.api, ["10.2.0.1", `10.2.1.${round}`]);
      await proxyHas("10.1.0.1", "10.2.0.1", `10.2.1.${round}`);
    }
    assert.equal(proxy.fewest.get(web), 3, "the count never dipped");
  });

  it("WorkloadEntries of another cluster are endpoints of its Services, and of ServiceEntries here, unless that is switched off", async () => {
    const [home, east] = servers();
    const [ofService, ofEntry] = ["outbound|80||machines.shop.svc.cluster.local", "outbound|80||machines.example"];
    await using watcher = new EndpointWatcher({ xdsAddress: fleet.xdsAddress, clusters: [ofService, ofEntry] });
    const have = (...expected: readonly string[]) =>
      until(
        () => {
          const there = [ofService, ofEntry].map((one) => watcher.endpointsOf(one).join());
          if (there.every((addresses) => addresses === expected.join())) return true;
          throw new Error(`there is ${there}`);
        },
        { withinMs: 60_000, what: `${expected}` },
      );
    const entry = join(fleet.configDirectory, "machines.json");
    writeFileSync(entry, JSON.stringify(machinesEntry));
    await defineWorkloadEntries(east.api);
    await selectingService(east.api, "machines");
    await machine(east.api, "vm-1", "10.2.9.1");
    await machine(east.api, "vm-2", "10.2.9.2", { "istio.io/rev": "another" });
    await have("10.2.9.1:8080");
    await east.api.delete(`${workloadEntries}/vm-2`);
    await machine(east.api, "vm-2", "10.2.9.2");
    await have("10.2.9.1:8080", "10.2.9.2:8080");
    await east.api.delete(`${workloadEntries}/vm-1`);
    await have("10.2.9.2:8080");

    await controller[Symbol.asyncDispose]();
    const off = { PILOT_ENABLE_CROSS_CLUSTER_WORKLOAD_ENTRY: "false" };
    controller = await fleet.startServiceController("without", { CLUSTER_KUBECONFIG: home.kubeconfig, ...off });
    await have();
    rmSync(entry);
  });

  it("a cluster that cannot be reached keeps its endpoints, with their age on pages and as a metric, then goes with its Secret", async () => {
    const [home, east] = servers();
    proxy.forget();
    await east[Symbol.asyncDispose]();
    const status = async () =>
      (await controller.page<readonly ClusterPage[]>("/debug/clusterz")).find(({ id }) => id === "east");
    await until(async () => ((await status())?.awaySeconds ?? 0) > 1, { withinMs: 60_000, what: "the age of east" });
    const { away } = await controller.page<{ readonly away: readonly { readonly shard: string }[] }>(
      "/debug/endpointz",
    );
    assert.deepEqual(
      away.map(({ shard }) => shard),
      ["Kubernetes/east"],
    );
    assert.ok((await controller.metric("flotilla_cluster_away_seconds")) > 1);
    assert.equal((await status())?.syncStatus, "synced");
    assert.equal((await status())?.secretName, "istio-system/east");
    await setAddresses(home.api, ["10.1.0.2"]);
    await proxyHas("10.1.0.2", "10.2.0.1", `10.2.1.${rotations}`);
    assert.equal(proxy.fewest.get(web), 3);

    await deleteRemoteSecret(home.api, "east");
    await proxyHas("10.1.0.2");
    await until(async () => (await status()) === undefined, { withinMs: 60_000, what: "the cluster to be forgotten" });
    assert.equal(await controller.metric("istiod_managed_clusters"), 1);
  });

  it("a cluster that cannot be reached at the start holds up readiness for a limited time", async () => {
    const [home] = servers();
    const dead = JSON.stringify({
      "current-context": "c",
      contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
      clusters: [{ name: "c", cluster: { server: "https://127.0.0.1:1" } }],
      users: [{ name: "u", user: { token: "x" } }],
    });
    await setRemoteSecret(home.api, "west", dead);
    await controller[Symbol.asyncDispose]();
    const env = { CLUSTER_KUBECONFIG: home.kubeconfig, PILOT_REMOTE_CLUSTER_TIMEOUT: "2s" };
    controller = await fleet.startServiceController("two", env);
    const [, west] = await controller.page<readonly ClusterPage[]>("/debug/clusterz");
    assert.equal(west?.id, "west");
    assert.equal(west?.syncStatus, "timeout");
    assert.match(west?.reason ?? "", /ECONNREFUSED/);
    assert.equal(await controller.metric("remote_cluster_sync_timeouts_total"), 1);
    await proxyHas("10.1.0.2");
  });
});
