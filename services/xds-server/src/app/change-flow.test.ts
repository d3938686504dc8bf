/** The path of changes between ingest and the core: the names and counts of batches, and the inputs of a mesh and its lists. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { trustBundleKind } from "@flotilla/auth";
import type { Change } from "@flotilla/model";
import { createMetrics, noopLogger, until } from "@flotilla/runtime";
import { createIngestMetrics } from "../ingest/ingest-metrics.ts";
import { createStreamMetrics } from "../serve/stream-metrics.ts";
import { readSettings, type XdsService } from "../settings.ts";
import { applyOptionsOf } from "../testing/apply-options.ts";
import { aConfig, anEndpoint, aService, put } from "../testing/mesh.ts";
import { createChangeFlow, createIngest } from "./change-flow.ts";
import type { ApplyOptions } from "./core-source.ts";
import { Revocations } from "./identity.ts";
import { ServedMesh } from "./mesh.ts";

const settingsOf = (env: Readonly<Record<string, string>> = {}) => readSettings(env);
const soon = (what: string) => ({ withinMs: 30_000, what, everyMs: 1 });
const cause = (revision: number) => ({ publisher: "test", epoch: "epoch", revision, eventTimeMs: 0 });
const routes = (count: number) =>
  put(...Array.from({ length: count }, (_, i) => aConfig("VirtualService", "shop", `r${i}`, {})));
const endpoints = {
  ...{ type: "endpoints", op: "put", value: [anEndpoint("10.0.0.1")] },
  key: { shard: "s", namespace: "shop", hostname: "a.example", name: "a" },
} as Change;

const workload = { type: "workload", op: "delete", key: { cluster: "Kubernetes", uid: "w" } } as unknown as Change;

/** A flow whose batches are noted; those of `refused` names cannot be applied. */
function aFlow(refused: readonly string[] = []) {
  const metrics = createMetrics();
  const batches: (ApplyOptions & { readonly changes: readonly Change[] })[] = [];
  const errors: string[] = [];
  const log = { ...noopLogger, error: (_: string, fields?: object) => void errors.push(JSON.stringify(fields)) };
  const counter = metrics.counter({ name: "refused_total", help: "refused" });
  const service = { settings: settingsOf({ PILOT_DEBOUNCE_AFTER: "1ms" }), metrics, log } as unknown as XdsService;
  const flow = createChangeFlow(service, {
    source: {
      apply: (changes, options) => {
        batches.push({ ...options, changes });
        return changes
          .filter(({ key }) => "name" in key && refused.includes(key.name ?? ""))
          .map((change) => ({ change, error: new Error("no") }));
      },
    },
    deliveryMetrics: createStreamMetrics(metrics),
    refused: counter,
  });
  const read = async (series: string) =>
    (await metrics.text())
      .split("\n")
      .find((line) => line.startsWith(`${series} `))
      ?.slice(series.length + 1);
  return { flow, batches, errors, read };
}

describe("a batch of changes", () => {
  it("names three of its objects and its last ten causes, and has the position of its last group", async () => {
    const { flow, batches } = aFlow();
    using _ = flow;
    for (const [index, change] of routes(12).entries()) flow.apply([change], index + 1, cause(index + 1));
    flow.flush();
    await until(() => batches.length > 0, soon("the batch"));
    const [first, ...others] = batches;
    assert.equal(others.length, 0);
    const { position, changes, objects, causes } = first?.applied ?? {};
    assert.deepEqual([position, changes], [12, 12]);
    assert.deepEqual(objects, ["VirtualService/shop/r0", "VirtualService/shop/r1", "VirtualService/shop/r2"]);
    assert.deepEqual(
      causes?.map(({ revision }) => revision),
      [3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
    );
  });

  it("is counted once for each kind of change in it, as istiod names them", async () => {
    const { flow, read } = aFlow();
    using _ = flow;
    const documents = put(
      aConfig("MeshConfig", "istio-system", "istio", {}),
      aConfig("MeshNetworks", "istio-system", "istio", {}),
    );
    flow.apply([...routes(2), ...documents, ...put(aService("a", "shop")), endpoints, workload], 1, cause(1));
    flow.flush();
    const counts = await Promise.all(
      ["config", "global", "networks", "service", "endpoint", "workload"].map((type) =>
        read(`pilot_push_triggers{type="${type}"}`),
      ),
    );
    assert.deepEqual(counts, ["1", "1", "1", "1", "1", "1"]);
  });

  it("reports each change that cannot be applied by its key", async () => {
    const { flow, errors, read } = aFlow(["r1"]);
    using _ = flow;
    flow.apply(routes(3), 1, cause(1));
    flow.flush();
    assert.equal(await read("refused_total"), "1");
    assert.equal(errors.length, 1);
    assert.match(errors[0] ?? "", /config VirtualService\/shop\/r1/);
  });
});

describe("the first whole state", () => {
  it("completes the mesh once it is applied", async () => {
    const { flow, batches } = aFlow();
    using _ = flow;
    const settings = settingsOf();
    const mesh = new ServedMesh(settings);
    const logged: string[] = [];
    const log = { ...noopLogger, info: (text: string) => void logged.push(text) };
    const snapshot = { entries: new Map(), position: 4, epoch: "e", mark: undefined, setAside: [] };
    const ingest = createIngest({ settings, log } as unknown as XdsService, {
      ...{ mesh, flow, metrics: createIngestMetrics(createMetrics()) },
      snapshot: { store: { load: async () => snapshot } } as never,
    });
    assert.equal(mesh.isComplete, false);
    await ingest.loadSnapshot();
    await mesh.completed;
    assert.deepEqual([mesh.isComplete, ingest.position, ingest.epoch], [true, 4, "e"]);
    assert.deepEqual(
      batches.map(({ applied }) => applied.position),
      [4],
    );
    assert.ok(logged.includes("the mesh is synced"));
  });
});

describe("the trust domains of a served mesh", () => {
  const cases: readonly (readonly [string, Readonly<Record<string, string>>, object, readonly string[]])[] = [
    ["are the default one", {}, {}, ["cluster.local"]],
    ["are the MeshConfig's, and its aliases", {}, { trustDomain: "td", trustDomainAliases: ["old"] }, ["td", "old"]],
    [
      "begin with the setting's",
      { TRUST_DOMAIN: "own" },
      { trustDomain: "td", trustDomainAliases: ["a"] },
      ["own", "a"],
    ],
  ];
  for (const [name, env, spec, want] of cases)
    it(name, () => {
      const mesh = new ServedMesh(settingsOf(env));
      const changes = put(aConfig("MeshConfig", "istio-system", "istio", spec as never));
      mesh.source.apply(changes, applyOptionsOf(changes, 1));
      assert.deepEqual(mesh.trustDomains(), want);
    });

  it("are served once the mesh is complete", async () => {
    const mesh = new ServedMesh(settingsOf());
    assert.equal(mesh.isComplete, false);
    mesh.complete();
    await mesh.completed;
    assert.equal(mesh.isComplete, true);
  });
});

describe("revocation lists in changes", () => {
  const bundle = (crls: string): readonly Change[] => put(aConfig(trustBundleKind, "istio-system", "roots", { crls }));
  const options = applyOptionsOf([], 1);

  it("are followed: listeners are called after changes with other lists, and after no others", () => {
    let calls = 0;
    const revocations = new Revocations(noopLogger);
    const listener = revocations.follow(() => calls++);
    const apply = (changes: readonly Change[]) => {
      listener.beforeApply?.(changes, options);
      listener.afterApply?.(changes, options);
    };
    apply(routes(1));
    assert.equal(calls, 0);
    apply(bundle(""));
    assert.deepEqual([calls, revocations.crls.length], [0, 0]);
  });
});
