/** A source that floods: what waits is one change a key, and the other sources get their turn. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { connectBus } from "@flotilla/bus";
import type { KubeApi } from "@flotilla/kube-api";
import type { Config } from "@flotilla/model";
import { noopLogger, until } from "@flotilla/runtime";
import { AggregateStore } from "../aggregate/aggregate-store.ts";
import { mergeSources } from "../aggregate/merge-sources.ts";
import { aSidecar } from "../store/config-store.conformance.ts";
import { openDurableStore } from "../store/durable/durable-store.ts";
import { apiSource } from "./api-source.ts";
import type { ConfigGroup, ConfigSource } from "./config-source.ts";
import { configAdmission, configDirectory } from "./config-source.ts";
import { kubernetesConfig } from "./kubernetes/kubernetes-source.ts";

function labelled(config: Config, count: number): Config {
  return { ...config, labels: { count: String(count) } };
}

async function refuse(): Promise<never> {
  throw new RangeError("nothing is written here");
}

describe("a source that floods", () => {
  it("over the API: a thousand writes without a reader are one change a key, the last", async () => {
    const stop = new AbortController();
    await using bus = await connectBus({ url: "embedded:flood", clientName: "t", log: noopLogger }, stop.signal);
    const bounds = { maxBytes: 1_000_000, maxObjects: 10, maxWaiting: 5_000, seal: undefined };
    const clock = { nowMs: Date.now, random: Math.random };
    const values = await bus.keyValue("config");
    const durable = await openDurableStore({ name: "api", values, log: noopLogger, ...bounds, ...clock });
    const groups = apiSource(durable, "default").groups(stop.signal)[Symbol.asyncIterator]();
    assert.deepEqual((await groups.next()).value?.changes, []);
    const next = groups.next();
    for (const name of ["a", "b"]) await durable.store.create(aSidecar("shop", name));
    await next;
    const writes = Array.from({ length: 1_000 }, (_, count) =>
      durable.store.update(labelled(aSidecar("shop", count % 2 === 0 ? "a" : "b"), count)),
    );
    await Promise.all(writes);
    const reported: (readonly [string, string | undefined])[] = [];
    while (!reported.some(([, count]) => count === "999")) {
      const { value } = (await groups.next()) as { readonly value: ConfigGroup };
      for (const change of value.changes)
        reported.push([change.key.name, change.op === "put" ? change.value.labels["count"] : undefined]);
    }
    assert.ok(reported.length <= 4, `${reported.length} changes of 1,000 writes`);
    assert.deepEqual(reported.slice(-2).sort(), [
      ["a", "998"],
      ["b", "999"],
    ]);
    stop.abort();
    await groups.return?.();
  });

  it("as a directory: a file that is written over and over is what it was last", async () => {
    await using cleanup = new AsyncDisposableStack();
    const path = await mkdtemp(join(tmpdir(), "flood-"));
    cleanup.defer(() => rm(path, { recursive: true }));
    const file = (count: number) => {
      const metadata = { name: "a", namespace: "shop", labels: { count: String(count) } };
      const spec = { egress: [{ hosts: ["*/*"] }] };
      return JSON.stringify({ apiVersion: "networking.istio.io/v1", kind: "Sidecar", metadata, spec });
    };
    await writeFile(join(path, "a.json"), file(0));
    const common = { admission: configAdmission(), revision: "default", onProblems: () => undefined };
    const source = cleanup.use(configDirectory({ path, ...common }));
    const stop = new AbortController();
    const groups = source.groups(stop.signal)[Symbol.asyncIterator]();
    await groups.next();
    for (let count = 1; count <= 500; count++) await writeFile(join(path, "a.json"), file(count));
    let [last, taken] = ["", 0];
    while (last !== "500") {
      const { value } = (await groups.next()) as { readonly value: ConfigGroup };
      const [change] = value.changes;
      last = change?.op === "put" ? (change.value.labels["count"] ?? "") : "";
      taken += 1;
    }
    assert.ok(taken <= 50, `${taken} groups of 500 writes without a reader`);
    stop.abort();
    await groups.return?.();
  });

  it("as a Kubernetes API: thousands of events without a reader are one change a key", {
    timeout: 60_000,
  }, async () => {
    const events = 5_000;
    const object = (count: number) => {
      const metadata = {
        name: "a",
        namespace: "shop",
        resourceVersion: String(count),
        labels: { count: String(count) },
      };
      const spec = { egress: [{ hosts: ["*/*"] }] };
      return { apiVersion: "networking.istio.io/v1", kind: "Sidecar", metadata, spec };
    };
    const root = "/apis/networking.istio.io/v1";
    let reported = 0;
    const api: KubeApi = {
      ...{
        server: "test",
        create: refuse,
        replace: refuse,
        delete: refuse,
        apply: refuse,
        metadata: async () => undefined,
        kindsTag: async () => undefined,
        textLines: () => assert.fail("no log is read"),
      },
      get: async <T>(path: string) => {
        if (path === root) return { resources: [{ name: "sidecars" }] } as T;
        if (path.startsWith(`${root}/sidecars`)) return { metadata: { resourceVersion: "0" }, items: [] } as T;
        return undefined;
      },
      lines: async function* (path, stop, onOpen) {
        onOpen?.();
        if (path.startsWith(`${root}/sidecars`))
          while (reported < events && !stop.aborted) {
            yield { type: reported === 0 ? "ADDED" : "MODIFIED", object: object(++reported) };
            if (reported % 500 === 0) await new Promise(setImmediate);
          }
        await new Promise<void>((resolve) => stop.addEventListener("abort", () => resolve(), { once: true }));
      },
      [Symbol.dispose]: () => undefined,
    };
    const common = { admission: configAdmission(), revision: "default", log: noopLogger, onProblems: () => undefined };
    await using source = kubernetesConfig({ api, ...common, nowMs: Date.now, random: Math.random });
    const stop = new AbortController();
    const groups = source.groups(stop.signal)[Symbol.asyncIterator]();
    await groups.next();
    await until(() => reported === events, { withinMs: 30_000, what: "the flood to be read" });
    let [last, taken] = ["", 0];
    while (last !== String(events)) {
      const { value } = (await groups.next()) as { readonly value: ConfigGroup };
      assert.ok(value.changes.length <= 1, "one change a key");
      const [change] = value.changes;
      if (change?.op === "put") last = change.value.labels["count"] ?? "";
      taken += 1;
    }
    assert.ok(taken <= 3, `${taken} groups of ${events} events without a reader`);
    stop.abort();
    await groups.return?.();
  });

  it("lets the others have their turn", async () => {
    const flood: ConfigSource = {
      name: "flood",
      problems: () => [],
      async *groups(stop) {
        for (let count = 0; !stop.aborted; count++) {
          const value = labelled(aSidecar("shop", "flood"), count);
          yield { changes: [{ type: "config", op: "put", key: value.key, value }], eventTimeMs: 0 };
        }
      },
      [Symbol.asyncDispose]: async () => undefined,
    };
    const { promise: isRunning, resolve } = Promise.withResolvers<void>();
    const quiet: ConfigSource = {
      ...flood,
      name: "quiet",
      async *groups() {
        yield { changes: [], eventTimeMs: 0 };
        await isRunning;
        const value = aSidecar("shop", "quiet");
        yield { changes: [{ type: "config", op: "put", key: value.key, value }], eventTimeMs: 0 };
      },
    };
    const stop = new AbortController();
    let floods = 0;
    for await (const { changes } of mergeSources(
      [flood, quiet],
      { store: new AggregateStore(["flood", "quiet"]) },
      stop.signal,
    )) {
      if (++floods === 10) resolve();
      if ([...changes].some(({ key }) => key.name === "quiet")) break;
      assert.ok(floods < 1_000, "the quiet source is never heard");
    }
    assert.ok(floods - 10 < 20, `${floods - 10} groups of the flood went before`);
  });
});
