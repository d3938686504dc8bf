/** WorkloadEntries of machines in an API server that keeps objects in memory. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { KubeError } from "@flotilla/kube-api";
import { createMemoryApi, type MemoryApi } from "@flotilla/kube-api/memory";
import type { Config, KubeObject } from "@flotilla/model";
import type { RegistrationRecords } from "@flotilla/registry";
import {
  controllerAnnotation,
  disconnectedAnnotation,
  groupAnnotation,
  registrationController,
} from "@flotilla/registry/convert";
import { createLogger, noopLogger, until } from "@flotilla/runtime";
import { type Condition, entriesPath, groupPath } from "./entry-objects.ts";
import { EntryWriter } from "./write-entries.ts";

const now = Date.UTC(2026, 0, 2);
const entries = entriesPath("vms");
const group = { [groupPath("vms", "db")]: { metadata: { uid: "group-uid" } } };
const ours = { [groupAnnotation]: "db", [controllerAnnotation]: registrationController };

function machine(name: string, address: string, health?: Pick<Condition, "status" | "message">): Config {
  return {
    key: { kind: "WorkloadEntry", namespace: "vms", name },
    ...{ labels: { app: "db" }, annotations: ours, creationTimeMs: 0, spec: { address } },
    ...(health && { status: { conditions: [{ type: "Healthy", ...health }] } }),
  };
}

interface Pass {
  readonly registered?: readonly Config[];
  readonly reported?: readonly Config[];
  /** The time in which nothing is deleted has passed. */
  readonly isSettled?: boolean;
}

/** One comparison of what machines report with what is stored; gives what could not be written. */
async function bringIntoLine(
  memory: MemoryApi,
  { registered = [], reported = [], isSettled = true }: Pass,
  isDone: () => boolean,
) {
  const stop = new AbortController();
  const records: RegistrationRecords = { registered, reported };
  const settleMs = isSettled ? 0 : 60_000;
  const writer = new EntryWriter({
    ...{ api: memory.api, records: () => records, settleMs, graceMs: 60_000, sweepMs: 60_000, log: noopLogger },
    nowMs: () => now,
  });
  const running = writer.run(stop.signal);
  try {
    await until(() => isDone() || writer.problems().length > 0, { withinMs: 20_000, everyMs: 2, what: "a comparison" });
  } finally {
    stop.abort();
    await running;
  }
  return writer.problems().map(({ object, reason }) => `${object} ${reason}`);
}

const verbs = (memory: MemoryApi) => memory.writes.map(({ verb, path }) => `${verb} ${path}`);
const stored = (memory: MemoryApi, name: string) => memory.read<KubeObject>(`${entries}/${name}`);

describe("WorkloadEntries of machines", () => {
  test("are made with their group as the owner, and with their health", async () => {
    const memory = createMemoryApi(group);
    const registered = [machine("db-1", "10.0.0.1", { status: "False", message: "refused" })];
    await bringIntoLine(memory, { registered }, () => memory.writes.length === 2);
    assert.deepEqual(verbs(memory), [`create ${entries}`, `replace ${entries}/db-1/status`]);
    const { metadata, spec, status } = stored(memory, "db-1") as KubeObject & { status: { conditions: Condition[] } };
    assert.deepEqual(spec, { address: "10.0.0.1" });
    assert.deepEqual(metadata.labels, { app: "db" });
    assert.equal(metadata.ownerReferences?.[0]?.uid, "group-uid");
    assert.deepEqual(status.conditions, [
      { type: "Healthy", status: "False", message: "refused", lastTransitionTime: "2026-01-02T00:00:00.000Z" },
    ]);
  });

  test("are written again only where they differ", async () => {
    const memory = createMemoryApi(group);
    const registered = [machine("a", "10.0.0.1", { status: "True" }), machine("b", "10.0.0.2", { status: "True" })];
    await bringIntoLine(memory, { registered }, () => memory.writes.length === 4);
    const changed = [machine("a", "10.0.0.9", { status: "True" }), machine("b", "10.0.0.2", { status: "True" })];
    await bringIntoLine(memory, { registered: changed }, () => memory.writes.length > 4);
    assert.deepEqual(verbs(memory).slice(4), [`replace ${entries}/a`]);
    assert.deepEqual(stored(memory, "a")?.["spec"], { address: "10.0.0.9" });
  });

  test("get the health of their machine as it changes, and are not read for one that is stored", async () => {
    const memory = createMemoryApi(group);
    const healthy = [machine("a", "10.0.0.1", { status: "True" })];
    await bringIntoLine(memory, { registered: healthy }, () => memory.writes.length === 2);
    const failing = [machine("a", "10.0.0.1", { status: "False", message: "refused" })];
    await bringIntoLine(memory, { registered: failing }, () => memory.writes.length > 2);
    assert.deepEqual(verbs(memory).slice(2), [`replace ${entries}/a/status`]);
    const { status } = stored(memory, "a") as KubeObject & { status: { conditions: Condition[] } };
    assert.deepEqual([status.conditions[0]?.status, status.conditions[0]?.message], ["False", "refused"]);
  });

  test("that stay refused are logged once, and again for another reason", async () => {
    const memory = createMemoryApi(group);
    let status = 403;
    memory.refusal = ({ path }) =>
      path === `${entries}/a` ? new KubeError("KUBE_REFUSED", `answer ${status}`, { status }) : undefined;
    const lines: string[] = [];
    const log = createLogger("t", "info", { write: (line) => void lines.push(line) });
    let looks = 0;
    // Another machine with each look, so that each compares.
    const records = (): RegistrationRecords => {
      if (++looks === 3) status = 409 + looks;
      return { registered: [machine("a", "10.0.0.1"), machine(`b${looks}`, "10.0.0.2")], reported: [] };
    };
    const stop = new AbortController();
    const options = { api: memory.api, records, settleMs: 60_000, graceMs: 60_000, sweepMs: 60_000, log };
    const running = new EntryWriter({ ...options, nowMs: () => now }).run(stop.signal);
    try {
      await until(() => looks > 3, { withinMs: 20_000, what: "four looks" });
    } finally {
      stop.abort();
      await running;
    }
    const reasons = lines.map((line) => (JSON.parse(line) as { readonly reason: string }).reason);
    assert.deepEqual(
      reasons.map((reason) => /answer \d+/.exec(reason)?.[0]),
      ["answer 403", "answer 412"],
    );
  });

  test("are not made for a group that is gone", async () => {
    const memory = createMemoryApi(group);
    const lost = { ...machine("lost", "10.0.0.1"), annotations: { ...ours, [groupAnnotation]: "gone" } };
    await bringIntoLine(memory, { registered: [lost, machine("db-1", "10.0.0.2")] }, () => memory.writes.length > 0);
    assert.equal(stored(memory, "lost"), undefined);
    assert.notEqual(stored(memory, "db-1"), undefined);
  });

  test("that somebody wrote by hand under the same name are left alone, and reported", async () => {
    const byHand = { metadata: { labels: { app: "mine" } }, spec: { address: "10.9.9.9" } };
    const memory = createMemoryApi({ ...group, [`${entries}/db-1`]: byHand });
    const problems = await bringIntoLine(memory, { registered: [machine("db-1", "10.0.0.1")] }, () => false);
    assert.match(
      problems.join(),
      /^WorkloadEntry\/vms\/db-1 is not written: .*an object of that name exists that was not registered/,
    );
    assert.deepEqual(memory.writes, []);
  });

  test("that somebody wrote get the health of their machine, and keep the rest of the status", async () => {
    const byHand = { spec: { address: "10.9.9.9" }, status: { note: "kept", conditions: [{ type: "Ready" }] } };
    const memory = createMemoryApi({ [`${entries}/hand`]: byHand });
    const reported = [machine("hand", "10.9.9.9", { status: "True" }), machine("none", "10.9.9.8", { status: "True" })];
    await bringIntoLine(memory, { reported }, () => memory.writes.length > 0);
    const { spec, status } = stored(memory, "hand") as unknown as typeof byHand;
    assert.deepEqual(spec, byHand.spec);
    assert.equal(status.note, "kept");
    assert.deepEqual(
      status.conditions.map(({ type }) => type),
      ["Ready", "Healthy"],
    );
  });

  test("are written after others have changed them at the same time", async () => {
    const memory = createMemoryApi(group);
    let conflicts = 3;
    memory.refusal = ({ verb }) => {
      if (verb !== "create" || conflicts === 0) return undefined;
      conflicts -= 1;
      return new KubeError("KUBE_CONFLICT", "changed", { status: 409 });
    };
    await bringIntoLine(memory, { registered: [machine("db-1", "10.0.0.1")] }, () => memory.writes.length > 0);
    assert.equal(conflicts, 0);
    assert.deepEqual(verbs(memory), [`create ${entries}`]);
  });

  test("that are refused do not keep others from being written", async () => {
    const memory = createMemoryApi(group);
    const refuse = new KubeError("KUBE_REFUSED", "forbidden", { status: 403 });
    memory.refusal = ({ path }) => (path === `${entries}/a` ? refuse : undefined);
    const registered = [machine("a", "10.0.0.1"), machine("b", "10.0.0.2")];
    const problems = await bringIntoLine(memory, { registered }, () => false);
    assert.deepEqual(problems, ["WorkloadEntry/vms/a is not written: [KUBE_REFUSED] forbidden"]);
    assert.notEqual(stored(memory, "b"), undefined);
  });

  const entry = (annotations: object) => ({ metadata: { annotations }, spec: {} });
  const left = (agoMs: number) => ({
    ...{ [groupAnnotation]: "db", [controllerAnnotation]: "another" },
    [disconnectedAnnotation]: new Date(now - agoMs).toISOString(),
  });
  const kinds = {
    // Those that stay come first: one that is deleted wrongly is deleted before the others.
    ...{ "left-just-now": entry(left(60_000)), "connected-there": entry({ [groupAnnotation]: "db" }) },
    ...{ "by-hand": entry({}), "left-long-ago": entry(left(60_001)), "of-ours": entry(ours) },
  };
  const all = Object.fromEntries(Object.entries(kinds).map(([name, object]) => [`${entries}/${name}`, object]));

  test("are deleted when their machine is gone: ours at once, those of other control planes after the grace", async () => {
    const memory = createMemoryApi(all);
    await bringIntoLine(memory, {}, () => memory.writes.length === 2);
    assert.deepEqual(verbs(memory).toSorted(), [`delete ${entries}/left-long-ago`, `delete ${entries}/of-ours`]);
  });

  test("are deleted one by one, at most twenty a second", async () => {
    const memory = createMemoryApi(
      Object.fromEntries(["a", "b", "c"].map((name) => [`${entries}/${name}`, entry(ours)])),
    );
    const times: number[] = [];
    memory.refusal = ({ verb }) => {
      if (verb === "delete") times.push(performance.now());
      return undefined;
    };
    await bringIntoLine(memory, {}, () => memory.writes.length === 3);
    const [first = 0, , last = 0] = times;
    // Timers may fire a millisecond early.
    assert.ok(last - first >= 98, `${last - first} ms`);
  });

  test("are kept for a while after the start, as machines come back", async () => {
    const memory = createMemoryApi({ ...all, ...group });
    const registered = [machine("db-1", "10.0.0.1")];
    await bringIntoLine(memory, { registered, isSettled: false }, () => memory.writes.length > 0);
    assert.deepEqual(verbs(memory), [`create ${entries}`]);
  });
});
