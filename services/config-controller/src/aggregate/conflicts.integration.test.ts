/** One object in a directory, in a real Kubernetes API and written over the API: the first wins, in every mix of them. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { connectBus } from "@flotilla/bus";
import { loadKubeConfig, openKubeApi } from "@flotilla/kube-api";
import { type RunningApiserver, startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import { noopLogger, until } from "@flotilla/runtime";
import { parseAllDocuments } from "yaml";
import { listProblems } from "../debug/problems.ts";
import { openDurableStore } from "../store/durable/durable-store.ts";
import { apiSource } from "../watch/api-source.ts";
import { configAdmission, configDirectory } from "../watch/config-source.ts";
import { kubernetesConfig } from "../watch/kubernetes/kubernetes-source.ts";
import { AggregateStore } from "./aggregate-store.ts";
import { mergeSources } from "./merge-sources.ts";

const server: RunningApiserver | undefined = await startKubeApiserver(process.env);
after(() => server?.[Symbol.asyncDispose]());
const crds = fileURLToPath(new URL("../../../../packages/kinds/crds/istio.yaml", import.meta.url));
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const sidecars = "/apis/networking.istio.io/v1/namespaces/default/sidecars";
const key = { kind: "Sidecar", namespace: "default", name: "a" };

/** Its own host shows where it comes from. */
function sidecar(source: string) {
  const metadata = { name: key.name, namespace: key.namespace };
  const spec = { egress: [{ hosts: [`*/${source}.example`] }] };
  return { apiVersion: "networking.istio.io/v1", kind: "Sidecar", metadata, spec };
}

interface Place {
  readonly name: string;
  put(): Promise<unknown>;
  remove(): Promise<unknown>;
}

const options = { skip: server === undefined && whyNoApiserver };

describe("one object in several real sources", options, () => {
  it("is that of the first, in every mix, and is never gone in between", async () => {
    assert.ok(server !== undefined);
    const { api, kubeconfig } = server;
    const owned = new AsyncDisposableStack();
    const directory = await mkdtemp(join(tmpdir(), "conflicts-"));
    owned.defer(() => rm(directory, { recursive: true }));
    const stop = new AbortController();
    const bus = owned.use(
      await connectBus({ url: "embedded:conflicts", clientName: "t", log: noopLogger }, stop.signal),
    );
    for (const document of parseAllDocuments(await readFile(crds, "utf8"))) {
      const definition: unknown = document.toJS();
      if (definition !== null) await api.create(definitions, definition);
    }
    await until(() => api.get(sidecars), { withinMs: 60_000, what: "the CRD", everyMs: 200 });
    const bounds = { maxBytes: 1_000_000, maxObjects: 10, maxWaiting: 10, seal: undefined };
    const clock = { nowMs: Date.now, random: Math.random };
    const durable = await openDurableStore({
      name: "api",
      values: await bus.keyValue("c"),
      log: noopLogger,
      ...bounds,
      ...clock,
    });
    const config = await loadKubeConfig({ KUBECONFIG: kubeconfig });
    assert.ok(config !== undefined);
    const common = { admission: configAdmission(), revision: "default", log: noopLogger, onProblems: () => undefined };
    const sources = [
      configDirectory({ path: directory, ...common }),
      kubernetesConfig({ api: openKubeApi(config), ...common, ...clock, discoverMs: 500 }),
      apiSource(durable, "default"),
    ];
    for (const source of sources) owned.use(source);
    const [files = "", kubernetes = "", overApi = ""] = sources.map(({ name }) => name);
    const file = join(directory, "a.json");
    const ofApi = { key, labels: {}, annotations: {}, creationTimeMs: 0, spec: sidecar("api").spec };
    const places: readonly Place[] = [
      { name: files, put: () => writeFile(file, JSON.stringify(sidecar("file"))), remove: () => rm(file) },
      {
        name: kubernetes,
        put: () => api.create(sidecars, sidecar("kubernetes")),
        remove: () => api.delete(`${sidecars}/a`),
      },
      { name: overApi, put: () => durable.store.create(ofApi), remove: () => durable.store.delete(key) },
    ];
    const marks: Readonly<Record<string, string>> = { [files]: "file", [kubernetes]: "kubernetes", [overApi]: "api" };

    const view = new AggregateStore(sources.map(({ name }) => name));
    let deletes = 0;
    const running = (async () => {
      for await (const { changes } of mergeSources(sources, { store: view }, stop.signal))
        deletes += [...changes].filter(({ op, key: { kind } }) => op === "delete" && kind === "Sidecar").length;
    })();
    const isOf = (winner: string) => JSON.stringify(view.get(key)?.spec ?? "").includes(`${marks[winner]}.example`);
    const [one, two, three] = places as [Place, Place, Place];
    for (const mix of [
      [one, two],
      [one, three],
      [two, three],
      [one, two, three],
    ]) {
      const names = mix.map(({ name }) => name);
      for (const place of mix.toReversed()) await place.put();
      for (const [index, place] of mix.entries()) {
        const ignored = names.slice(index + 1);
        const expected = ignored.map(
          (source) => `${source}: of ${source} is not in force: it is taken from ${place.name}`,
        );
        const reported = () => listProblems(sources, view).map(({ source, reason }) => `${source}: ${reason}`);
        const isSo = () => isOf(place.name) && JSON.stringify(reported()) === JSON.stringify(expected);
        await until(isSo, { withinMs: 60_000, what: `${names.join(", ")}: that of ${place.name}` });
        assert.equal(deletes, 0);
        await place.remove();
      }
      await until(() => deletes === 1, { withinMs: 60_000, what: "the object to go" });
      assert.equal(view.get(key), undefined);
      deletes = 0;
    }
    stop.abort();
    await running;
    await owned.disposeAsync();
  });
});
