/** Writes of a service-controller to its cluster, as an HTTP server receives them. */
import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { connectBus } from "@flotilla/bus";
import { type KubeApi, openKubeApi } from "@flotilla/kube-api";
import type { ClusterRegistries } from "@flotilla/registry";
import { groupAnnotation } from "@flotilla/registry/convert";
import { noopLogger, until } from "@flotilla/runtime";
import { type RegistryService, readSettings } from "../settings.ts";
import type { Inputs } from "./inputs.ts";
import { openWriters } from "./kubernetes-writers.ts";
import type { ProblemReports } from "./problem-reports.ts";

const entry = {
  ...{ key: { kind: "WorkloadEntry", namespace: "vms", name: "db-1" }, labels: {}, creationTimeMs: 0 },
  ...{ annotations: { [groupAnnotation]: "db" }, spec: { address: "10.0.0.1" } },
};
const service = { apiVersion: "v1", kind: "Service", metadata: { name: "web", namespace: "shop", uid: "u" } };
const entries = "POST /apis/networking.istio.io/v1/namespaces/vms/workloadentries";
const exported = "POST /apis/multicluster.x-k8s.io/v1alpha1/namespaces/shop/serviceexports";
const silent = { ENABLE_LEADER_ELECTION: "false" };

describe("a service-controller in a cluster", () => {
  const asked: string[] = [];
  let server: Server;
  const cluster = () => {
    const { port } = server.address() as AddressInfo;
    return { server: `http://127.0.0.1:${port}`, credentials: () => Promise.resolve({}) };
  };
  const writes = () => asked.filter((one) => !one.startsWith("GET "));

  before(async () => {
    server = createServer(({ method, url = "" }, response) => {
      asked.push(`${method} ${url}`);
      const isList = /workloadentries\b(?!\/)/.test(url);
      const isThere = method !== "GET" || isList || url.endsWith("/workloadgroups/db");
      response.writeHead(isThere ? 200 : 404, { "content-type": "application/json" });
      response.end(
        JSON.stringify({ metadata: { name: "db", uid: "g", resourceVersion: "1" }, ...(isList && { items: [] }) }),
      );
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  });
  after(() => void server.close());

  /** Runs until `count` writes arrived; with 0 the service stops first. Returns the names of the sources of problems. */
  async function write(env: Readonly<Record<string, string>>, count: number): Promise<readonly (string | undefined)[]> {
    asked.length = 0;
    const stop = new AbortController();
    const log = noopLogger;
    await using bus = await connectBus(
      { url: "embedded:kubernetes-writers", clientName: "t", log },
      new AbortController().signal,
    );
    using api: KubeApi = openKubeApi(cluster());
    const inputs = { cluster: cluster(), kubernetes: [{ apis: () => [["Kubernetes", api]] }] } as unknown as Inputs;
    const registry = {
      machineRecords: () => ({ registered: [entry], reported: [] }),
      exportable: () => new Map([["Kubernetes", [service]]]),
    } as unknown as ClusterRegistries;
    const watched: (string | undefined)[] = [];
    const problems = {
      add: (...all: readonly ({ readonly name: string } | undefined)[]) => watched.push(...all.map((one) => one?.name)),
    } as unknown as ProblemReports;
    const given = { settings: readSettings({ ...silent, ...env }), version: "1", log, stop: stop.signal };
    using writers = openWriters(given as unknown as RegistryService, { bus, registry, inputs, problems });
    assert.ok(writers !== undefined);
    if (count === 0) stop.abort();
    const running = writers.run();
    try {
      await until(() => writes().length >= count, { withinMs: 20_000, what: "the writes", everyMs: 2 });
    } finally {
      stop.abort();
      await running;
    }
    return watched;
  }

  const exporting = { ENABLE_MCS_AUTO_EXPORT: "true" };
  const unregistered = { PILOT_ENABLE_WORKLOAD_ENTRY_AUTOREGISTRATION: "false" };

  it("writes entries of machines and exports of services, and reports the problems of both", async () => {
    assert.deepEqual(await write(exporting, 2), ["registrations", "exports"]);
    assert.deepEqual(writes().toSorted(), [exported, entries].sort());
  });

  it("writes one of them where the other is not asked for", async () => {
    assert.deepEqual([await write({}, 1), writes()], [["registrations", undefined], [entries]]);
    const watched = await write({ ...unregistered, ...exporting }, 1);
    assert.deepEqual([watched, writes()], [[undefined, "exports"], [exported]]);
  });

  it("asks for nothing once the service stops", async () => {
    await write(exporting, 0);
    assert.deepEqual(asked, []);
  });
});
