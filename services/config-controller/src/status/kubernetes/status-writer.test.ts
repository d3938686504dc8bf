/** The status that the status writer leaves in an API server that keeps objects in memory. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { KubeError } from "@flotilla/kube-api";
import { createMemoryApi, type MemoryApi } from "@flotilla/kube-api/memory";
import { noopLogger, until } from "@flotilla/runtime";
import type { ObjectDistribution } from "../distributions.ts";
import type { ObjectStatus } from "../object-status.ts";
import type { Condition } from "./conditions.ts";
import { StatusWriter } from "./status-writer.ts";

const group = "/apis/networking.istio.io/v1";
const path = (name: string) => `${group}/namespaces/shop/virtualservices/${name}`;
const served = { [group]: { resources: [{ name: "virtualservices" }, { name: "workloadentries" }] } };
const everywhere = { live: 2, concerned: 2, refusals: [], isPrecise: true, behind: [], replicas: 1 };

interface Stored {
  readonly metadata: { readonly generation: number };
  readonly status?: { readonly observedGeneration: number; readonly conditions: readonly Condition[] };
}

function accepted(name: string, distribution: Partial<ObjectDistribution> = {}): ObjectStatus {
  const inForce = {
    generation: 1,
    by: "kube",
    writer: "kube",
    objectGeneration: 4,
    distribution: { ...everywhere, ...distribution },
  };
  return { object: `VirtualService/shop/${name}`, state: "accepted", problems: [], warnings: [], inForce };
}

function refused(name: string, reason: string): ObjectStatus {
  const problems = [{ field: "spec.hosts", reason }];
  return { object: `VirtualService/shop/${name}`, state: "refused", problems, warnings: [] };
}

function conditionsIn(memory: MemoryApi, name: string): string[] {
  const { conditions = [] } = memory.read<Stored>(path(name))?.status ?? {};
  return conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`);
}

const live = ["Accepted True Valid", "PassedAnalysis True NoFindings", "Reconciled True Live"];

async function writing(memory: MemoryApi, statuses: readonly ObjectStatus[], check: (run: Run) => Promise<void>) {
  const known = new Map(statuses.map((status) => [status.object, status]));
  const changed = new Set<string>();
  const listeners = new Set<() => void>();
  const stop = new AbortController();
  const wake = () => {
    for (const listener of listeners) listener();
  };
  const run: Run = {
    ...{ nowMs: Date.UTC(2026, 0, 1), written: 0, hasReports: true },
    set: (status) => {
      known.set(status.object, status);
      changed.add(status.object);
      wake();
    },
    eventually: (what, holds) => {
      // Its own looks come a quarter of a second apart.
      const isSo = () => {
        wake();
        return holds();
      };
      return until(isSo, { withinMs: 20_000, everyMs: 2, what });
    },
  };
  const writer = new StatusWriter({
    ...{ api: memory.api, namespaces: [], writesPerSecond: 1_000, retryMs: 1, log: noopLogger },
    statusOf: (object) => known.get(object),
    hasReports: () => run.hasReports,
    takeChanged: () => {
      const taken = new Set(changed);
      changed.clear();
      return taken;
    },
    onChanged: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    onWritten: () => {
      run.written += 1;
    },
    nowMs: () => run.nowMs,
  });
  const running = writer.run(stop.signal);
  try {
    await check(run);
  } finally {
    stop.abort();
    await running;
  }
  assert.equal(listeners.size, 0, "no listener is called after the end");
}

interface Run {
  nowMs: number;
  written: number;
  hasReports: boolean;
  readonly set: (status: ObjectStatus) => void;
  readonly eventually: (what: string, holds: () => boolean) => Promise<unknown>;
}

describe("the status of objects in Kubernetes", () => {
  const object = { metadata: { generation: 4 }, spec: {} };

  test("is written for an object that has none, with the generation that it is about", async () => {
    const memory = createMemoryApi({ ...served, [path("a")]: object });
    await writing(memory, [accepted("a")], async (run) => {
      await run.eventually("the status is written", () => run.written === 1);
    });
    assert.deepEqual(conditionsIn(memory, "a"), live);
    const { status } = memory.read<Stored>(path("a")) ?? {};
    assert.equal(status?.observedGeneration, 4);
    assert.equal(status?.conditions[0]?.lastTransitionTime, "2026-01-01T00:00:00Z");
    const [write] = memory.writes;
    assert.equal(write?.path, `${path("a")}/status`);
    assert.equal(write?.fieldManager, "flotilla-status");
    const { apiVersion, kind, metadata } = (write?.object ?? {}) as Record<string, unknown>;
    assert.deepEqual(
      { apiVersion, kind, metadata },
      {
        ...{ apiVersion: "networking.istio.io/v1", kind: "VirtualService" },
        metadata: { name: "a", namespace: "shop" },
      },
    );
  });

  test("that a predecessor wrote is left as it is", async () => {
    const memory = createMemoryApi({ ...served, [path("a")]: object });
    await writing(memory, [accepted("a")], async (run) => {
      await run.eventually("the status is written", () => run.written === 1);
    });
    memory.put(path("b"), object);
    await writing(memory, [accepted("a"), accepted("b")], async (run) => {
      await run.eventually("the other one is written", () => run.written === 1);
    });
    assert.deepEqual(
      memory.writes.map((write) => write.path),
      [`${path("a")}/status`, `${path("b")}/status`],
    );
  });

  test("that stands there already is read once, and not written", async () => {
    const memory = createMemoryApi({ ...served, [path("a")]: object });
    await writing(memory, [accepted("a")], async (run) => {
      await run.eventually("the status is written", () => run.written === 1);
    });
    const { status } = memory.read<Stored>(path("a")) ?? {};
    const reads: string[] = [];
    await writing(memory, [accepted("a")], async (run) => {
      memory.refusal = ({ verb, path: at }) => {
        if (verb === "get" && at === path("b")) reads.push(at);
        return undefined;
      };
      for (const name of ["c", "d", "e"]) {
        memory.put(path(name), object);
        run.set(accepted(name));
        await run.eventually("the status of another one", () => conditionsIn(memory, name).length > 0);
        if (name === "c") memory.put(path("b"), { ...object, status });
        run.set(accepted("b"));
      }
    });
    assert.deepEqual([reads, memory.writes.length], [[path("b")], 4]);
  });

  test("is written again when the verdict is another, and conditions of others stay", async () => {
    const foreign = { type: "Reviewed", status: "True", reason: "ByHand", message: "", lastTransitionTime: "" };
    const memory = createMemoryApi({ ...served, [path("a")]: { ...object, status: { conditions: [foreign] } } });
    await writing(memory, [accepted("a")], async (run) => {
      await run.eventually("the first status", () => run.written === 1);
      run.set(refused("a", "is empty"));
      await run.eventually("the second status", () => run.written === 2);
      run.set(refused("a", "is empty"));
      run.set(accepted("gone"));
      run.set({ ...accepted("a"), object: "WorkloadEntry/shop/machine" });
      run.set(accepted("a"));
      await run.eventually("the third status", () => run.written === 3);
    });
    assert.deepEqual(conditionsIn(memory, "a"), ["Reviewed True ByHand", ...live]);
    const words = memory.writes.map(({ object: written }) => {
      const { status } = written as Stored;
      return status?.conditions.find(({ type }) => type === "Accepted")?.message;
    });
    assert.deepEqual(words, ["", "spec.hosts: is empty", ""]);
  });

  test("of an object that is on its way is written after a second, and once more when it has arrived", async () => {
    const memory = createMemoryApi({ ...served, [path("a")]: object });
    await writing(memory, [accepted("a", { live: 1 })], async (run) => {
      run.set(accepted("b"));
      memory.put(path("b"), object);
      await run.eventually("another object's status", () => conditionsIn(memory, "b").length > 0);
      assert.deepEqual(conditionsIn(memory, "a"), []);
      run.nowMs += 1_000;
      await run.eventually("a status in between", () => conditionsIn(memory, "a").length > 0);
      assert.equal(conditionsIn(memory, "a").at(-1), "Reconciled False Distributing");
      run.set(accepted("a"));
      const isLive = () => {
        run.nowMs += 250;
        return conditionsIn(memory, "a").at(-1) === live.at(-1);
      };
      await run.eventually("the last status", isLive);
    });
  });

  test("states the lack of reports after ten seconds only", async () => {
    const memory = createMemoryApi({ ...served, [path("a")]: object, [path("b")]: object });
    await writing(memory, [accepted("a", { replicas: 0 }), accepted("b")], async (run) => {
      await run.eventually("the other object's status", () => run.written === 1);
      run.nowMs += 9_999;
      memory.put(path("c"), object);
      run.set(accepted("c"));
      await run.eventually("a third object's status", () => run.written === 2);
      assert.deepEqual(conditionsIn(memory, "a"), []);
      run.nowMs += 1;
      await run.eventually("the verdict", () => run.written === 3);
      assert.equal(conditionsIn(memory, "a").at(-1), "Reconciled Unknown NoReport");
    });
  });

  test("of an object that was deleted is not written", async () => {
    const memory = createMemoryApi({ ...served, [path("a")]: object, [path("b")]: object });
    await writing(memory, [], async (run) => {
      memory.remove(path("a"));
      run.set(accepted("a"));
      run.set(accepted("b"));
      await run.eventually("the other one", () => run.written === 1);
    });
    assert.deepEqual(
      memory.writes.map((write) => write.path),
      [`${path("b")}/status`],
    );
  });

  test("is written when the API server takes it again", async () => {
    const memory = createMemoryApi({ ...served, [path("a")]: object });
    const failing = new Set(["get", "apply"]);
    memory.refusal = ({ verb }) =>
      failing.delete(verb) ? new KubeError("KUBE_AWAY", "starting", { status: 503 }) : undefined;
    await writing(memory, [accepted("a")], async (run) => {
      await run.eventually("the status is written", () => run.written === 1);
    });
    assert.equal(failing.size, 0);
    assert.deepEqual(conditionsIn(memory, "a"), live);
  });
});
