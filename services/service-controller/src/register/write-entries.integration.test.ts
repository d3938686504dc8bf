/** WorkloadEntries of machines in a real API server, with the CRDs that the product ships. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { connectBus, createPublisher } from "@flotilla/bus";
import { type KubeObject as ApiObject, KubeError } from "@flotilla/kube-api";
import { type RunningApiserver, startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import {
  type ConfigChange,
  encodeRegisteredWorkloads,
  type KubeObject,
  type RegisteredWorkload,
  registrationReportBucket,
  registrationReportTtlMs,
} from "@flotilla/model";
import { defaultRegistrySettings, Registry } from "@flotilla/registry";
import { noopLogger, until } from "@flotilla/runtime";
import { freePort } from "@flotilla/servers";
import { parseAllDocuments } from "yaml";
import { main } from "../main.ts";
import { EntryWriter } from "./write-entries.ts";

const server: RunningApiserver | undefined = await startKubeApiserver(process.env);
after(() => server?.[Symbol.asyncDispose]());

const crds = fileURLToPath(new URL("../../../../packages/kinds/crds/istio.yaml", import.meta.url));
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const base = "/apis/networking.istio.io/v1/namespaces/default";
const template = { serviceAccount: "vm", ports: { http: 8080 }, labels: { app: "vm" } };
const soon = (what: string) => ({ withinMs: 60_000, what, everyMs: 100 });

function machine(instance: string, over: Partial<RegisteredWorkload> = {}): RegisteredWorkload {
  return {
    key: { namespace: "default", group: "vms", network: "net-1", instance },
    address: "fd00::9",
    locality: "r/z",
    labels: { version: "v1" },
    identities: ["spiffe://cluster.local/ns/default/sa/vm"],
    connectedAtMs: Date.parse("2026-01-02T03:04:05.678Z"),
    ...over,
  };
}

function config(kind: string, name: string, spec: unknown): ConfigChange {
  const key = { kind, namespace: "default", name };
  return { type: "config", op: "put", key, value: { key, labels: {}, annotations: {}, creationTimeMs: 0, spec } };
}

describe("machines in a real API server", { skip: server === undefined && whyNoApiserver }, () => {
  const registry = new Registry(defaultRegistrySettings);
  const stop = new AbortController();
  let groupUid = "";
  let running: Promise<void> = Promise.resolve();
  const entry = async (name: string) => server?.api.get<KubeObject>(`${base}/workloadentries/${name}`);
  const conditions = async (name: string) =>
    ((await entry(name))?.["status"] as { readonly conditions?: readonly Record<string, string>[] } | undefined)
      ?.conditions ?? [];
  const options = { records: () => registry.machineRecords(), settleMs: 0, graceMs: 10_000, sweepMs: 1_000 };

  before(async () => {
    if (server === undefined) return;
    const { api } = server;
    for (const document of parseAllDocuments(await readFile(crds, "utf8"))) {
      const definition = document.toJS() as KubeObject | null;
      if (definition !== null && /workload(entries|groups)/.test(definition.metadata.name))
        await api.create(definitions, definition);
    }
    const common = { apiVersion: "networking.istio.io/v1" };
    const group = { ...common, kind: "WorkloadGroup", metadata: { name: "vms" }, spec: { template } };
    const create = () => api.create<ApiObject>(`${base}/workloadgroups`, group).catch(() => undefined);
    await until(async () => {
      groupUid = (await create())?.metadata.uid ?? "";
      return groupUid !== "";
    }, soon("the CRDs to be served"));
    const spec = { address: "10.9.9.9", serviceAccount: "vm" };
    const byHand = { ...common, kind: "WorkloadEntry", metadata: { name: "by-hand" }, spec };
    await api.create(`${base}/workloadentries`, byHand);
    registry.apply([config("WorkloadGroup", "vms", { template }), config("WorkloadEntry", "by-hand", spec)]);
    running = new EntryWriter({ api, ...options, log: noopLogger, nowMs: Date.now }).run(stop.signal);
  });
  after(async () => {
    stop.abort();
    await running;
  });

  const name = "vms-fd00--9-net-1";

  it("a machine that connects has an entry named and owned as istiod's", async () => {
    registry.apply([{ type: "machine", op: "put", machine: machine("m1") }]);
    await until(async () => (await entry(name)) !== undefined, soon("the entry"));
    const { metadata, spec } = (await entry(name)) as KubeObject;
    assert.deepEqual(metadata.annotations, {
      "istio.io/autoRegistrationGroup": "vms",
      "istio.io/connectedAt": "2026-01-02T03:04:05.678Z",
      "istio.io/workloadController": "flotilla",
    });
    const [owner] = metadata.ownerReferences ?? [];
    assert.deepEqual(
      [owner?.kind, owner?.name, owner?.uid, owner?.controller],
      ["WorkloadGroup", "vms", groupUid, true],
    );
    assert.deepEqual(spec, {
      ...template,
      address: "fd00::9",
      labels: { app: "vm", version: "v1" },
      network: "net-1",
      locality: "r/z",
    });
  });

  it("its health is in the status, and the time of a transition stays while nothing changes", async () => {
    const say = (healthy: boolean, message: string, atMs: number) =>
      registry.apply([{ type: "machine", op: "put", machine: machine("m1", { health: { healthy, message, atMs } }) }]);
    say(false, "503", 1_000);
    await until(async () => (await conditions(name))[0]?.["status"] === "False", soon("the condition"));
    const [first] = await conditions(name);
    assert.deepEqual([first?.["message"], first?.["lastProbeTime"]], ["503", "1970-01-01T00:00:01.000Z"]);
    say(false, "504", 2_000);
    await until(async () => (await conditions(name))[0]?.["message"] === "504", soon("the message"));
    assert.equal((await conditions(name))[0]?.["lastTransitionTime"], first?.["lastTransitionTime"]);
    say(true, "", 3_000);
    await until(async () => (await conditions(name))[0]?.["status"] === "True", soon("health"));
  });

  it("an entry that somebody wrote gets the health of the machine it stands for, and nothing else", async () => {
    const before = await entry("by-hand");
    const health = { healthy: false, message: "down", atMs: 1_000 };
    const base = machine("m2", { health });
    const one = { ...base, key: { ...base.key, group: "" }, entry: "by-hand" };
    registry.apply([{ type: "machine", op: "put", machine: one }]);
    await until(async () => (await conditions("by-hand"))[0]?.["message"] === "down", soon("the condition"));
    const after = await entry("by-hand");
    assert.deepEqual(after?.["spec"], before?.["spec"]);
    assert.deepEqual(after?.metadata.annotations, before?.metadata.annotations);
  });

  it("an entry that somebody removes or changes is put right by the sweep", async () => {
    assert.ok(server !== undefined);
    await server.api.delete(`${base}/workloadentries/${name}`);
    await until(async () => (await entry(name)) !== undefined, soon("the entry again"));
    const change = async () => {
      const stored = (await entry(name)) as KubeObject;
      const changed = { ...stored, spec: { ...(stored["spec"] as object), address: "10.1.1.1" } };
      await server?.api.replace(`${base}/workloadentries/${name}`, changed);
      return true;
    };
    // The service may write the status of the new entry in between: the version read is not the last one then.
    const orConflict = (error: unknown) => {
      if (error instanceof KubeError && error.code === "KUBE_CONFLICT") return false;
      throw error;
    };
    await until(() => change().catch(orConflict), soon("the change by somebody"));
    const address = async () => ((await entry(name))?.["spec"] as { readonly address?: string } | undefined)?.address;
    await until(async () => (await address()) === "fd00::9", soon("the address again"));
  });

  it("a machine within its grace is marked as disconnected, and as connected when it is back", async () => {
    const mark = async () => (await entry(name))?.metadata.annotations?.["istio.io/disconnectedAt"];
    const connected = async () => (await entry(name))?.metadata.annotations?.["istio.io/connectedAt"];
    const disconnectedAtMs = Date.parse("2026-01-02T04:00:00.000Z");
    registry.apply([{ type: "machine", op: "put", machine: machine("m1", { disconnectedAtMs }) }]);
    await until(async () => (await mark()) === "2026-01-02T04:00:00.000Z", soon("the mark"));
    assert.equal(await connected(), undefined);
    registry.apply([{ type: "machine", op: "put", machine: machine("m1") }]);
    await until(async () => (await mark()) === undefined, soon("the mark to go"));
    assert.equal(await connected(), "2026-01-02T03:04:05.678Z");
  });

  it("a machine that is gone has no entry, nor has one that a crash left behind; others' stay", async () => {
    assert.ok(server !== undefined);
    const left = (await entry(name)) as KubeObject;
    const orphan = (suffix: string, controller: string, disconnectedAt?: string) => ({
      ...left,
      metadata: {
        name: `${name}-${suffix}`,
        annotations: {
          ...left.metadata.annotations,
          "istio.io/workloadController": controller,
          ...(disconnectedAt === undefined ? {} : { "istio.io/disconnectedAt": disconnectedAt }),
        },
      },
    });
    await server.api.create(`${base}/workloadentries`, orphan("orphan", "flotilla"));
    await server.api.create(`${base}/workloadentries`, orphan("istiods", "istiod-7"));
    // Its grace is not over before the test is.
    const now = new Date(Date.now() + 600_000).toISOString();
    await server.api.create(`${base}/workloadentries`, orphan("just-left", "istiod-7", now));
    await server.api.create(`${base}/workloadentries`, orphan("long-left", "istiod-7", "2026-01-02T03:04:05Z"));
    registry.apply([{ type: "machine", op: "delete", machine: machine("m1") }]);
    await until(async () => (await entry(name)) === undefined, soon("the entry to go"));
    await until(async () => (await entry(`${name}-orphan`)) === undefined, soon("the orphan to go"));
    await until(async () => (await entry(`${name}-long-left`)) === undefined, soon("what istiod left behind to go"));
    assert.ok((await entry(`${name}-istiods`)) !== undefined);
    assert.ok((await entry(`${name}-just-left`)) !== undefined);
    assert.ok((await entry("by-hand")) !== undefined);
  });

  it("the service writes the entry of a machine that a replica of xds-server reports", async () => {
    assert.ok(server !== undefined);
    const ending = new AbortController();
    const busUrl = "embedded:write-entries";
    await using bus = await connectBus({ url: busUrl, clientName: "t", log: noopLogger }, ending.signal);
    const env = { BUS_URL: busUrl, CLUSTER_KUBECONFIG: server.kubeconfig, POD_NAMESPACE: "default" };
    const port = String(await freePort());
    const serving = main({ ...env, HEALTH_HOST: "127.0.0.1", HEALTH_PORT: port, LOG_LEVEL: "silent" }, ending.signal);
    const options = { bus, seal: undefined, log: noopLogger, nowMs: Date.now };
    const configuration = createPublisher({ ...options, publisher: "config-controller" });
    await configuration.synchronize([config("WorkloadGroup", "vms", { template })]);
    const reports = await bus.keyValue(registrationReportBucket, { ttlMs: registrationReportTtlMs });
    const report = () => reports.put("replica", encodeRegisteredWorkloads([machine("m9", { address: "10.7.7.7" })]));
    await report();
    const reloading = setInterval(() => void report(), registrationReportTtlMs / 3);
    try {
      await until(async () => (await entry("vms-10.7.7.7-net-1")) !== undefined, soon("the entry"));
    } finally {
      clearInterval(reloading);
      ending.abort();
      await serving;
    }
    const leases = await server.api.get<ApiObject>(
      "/apis/coordination.k8s.io/v1/namespaces/default/leases/flotilla-workload-entries",
    );
    assert.ok(leases !== undefined);
  });
});
