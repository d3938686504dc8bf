import assert from "node:assert/strict";
import { test } from "node:test";
import { connectBus } from "@flotilla/bus";
import {
  encodeRegisteredWorkloads,
  type RegisteredWorkload,
  registrationReportBucket,
  registrationReportTtlMs,
} from "@flotilla/model";
import { createMetrics, noopLogger, until } from "@flotilla/runtime";
import { declareMetrics } from "../metrics.ts";
import { registeredWorkloadSource } from "./registered-workload-source.ts";

function machine(instance: string, connectedAtMs: number): RegisteredWorkload {
  const key = { namespace: "n", group: "vms", network: "", instance };
  return { key, address: `10.9.0.${connectedAtMs}`, locality: "", labels: {}, identities: [], connectedAtMs };
}

const { machines: counters } = declareMetrics(createMetrics());

async function world(name: string) {
  const metrics = createMetrics();
  const { machines: counters } = declareMetrics(metrics);
  const stop = new AbortController();
  const bus = await connectBus({ url: `embedded:${name}`, clientName: "t", log: noopLogger }, stop.signal);
  const values = await bus.keyValue(registrationReportBucket);
  let now = 0;
  const state = new Map<string, string>();
  const history: string[] = [];
  const follow = () => {
    const source = registeredWorkloadSource({ bus, graceMs: 10_000, log: noopLogger, nowMs: () => now, counters });
    return (async () => {
      for await (const { inputs } of source.groups(stop.signal)) {
        for (const input of inputs) {
          if (input.type !== "machine") continue;
          const isLost = input.op === "put" && input.machine.disconnectedAtMs !== undefined;
          const { instance } = input.machine.key;
          history.push(`${isLost ? "lost" : input.op} ${instance}`);
          if (input.op === "put") state.set(input.machine.key.instance, input.machine.address);
          else state.delete(instance);
        }
      }
    })();
  };
  const text = () =>
    [...state]
      .map((pair) => pair.join(" "))
      .sort()
      .join(", ");
  return {
    history,
    follow,
    report: (replica: string, ...machines: readonly RegisteredWorkload[]) =>
      values.put(replica, encodeRegisteredWorkloads(machines)),
    pass: (ms: number) => {
      now += ms;
    },
    /** Of `auto_registration_…_total`: success, updates, unregister, deletes, errors. */
    counts: async () => {
      const lines = (await metrics.text()).split("\n").filter((line) => line.startsWith("auto_registration_"));
      return lines.map((line) => line.replace("auto_registration_", "").replace("_total", ""));
    },
    writeGarbage: () => values.put("three", Buffer.from("{")),
    is: (expected: string) =>
      until(() => text() === expected, { withinMs: 30_000, what: `${expected}, not ${text()}` }),
    async end(done: Promise<void>) {
      stop.abort();
      await done;
      await bus[Symbol.asyncDispose]();
    },
  };
}

test("a machine that moves to another replica is never gone; one that stays away is, after the grace", async () => {
  const { history, follow, report, pass, is, end, counts, writeGarbage } = await world("machines-move");
  await report("one", machine("m1", 1), machine("m2", 2));
  const done = follow();
  await is("m1 10.9.0.1, m2 10.9.0.2");
  await report("one");
  await report("two", machine("m1", 3));
  await is("m1 10.9.0.3, m2 10.9.0.2");
  pass(8_000);
  await report("two", machine("m1", 3));
  pass(2_500);
  await is("m1 10.9.0.3");
  assert.deepEqual(
    history.filter((one) => one !== "lost m1"),
    ["put m1", "put m2", "lost m2", "put m1", "delete m2"],
  );
  assert.ok(!history.includes("delete m1"));
  await writeGarbage();
  await until(async () => (await counts()).includes("errors 1"), { withinMs: 30_000, what: "an unreadable report" });
  const lost = history.filter((one) => one.startsWith("lost ")).length;
  const registered = ["success 2", `updates ${history.filter((one) => one === "put m1").length - 1}`];
  assert.deepEqual(await counts(), [...registered, `unregister ${lost}`, "deletes 1", "errors 1"]);
  await end(done);
});

test("a replica that died takes its machines with it after its report is too old and the grace is over", async () => {
  const { history, follow, report, pass, is, end } = await world("machines-crash");
  await report("one", machine("m1", 1));
  const done = follow();
  await is("m1 10.9.0.1");
  pass(registrationReportTtlMs + 1);
  // Its proxy finds another replica within the grace.
  await report("two", machine("m1", 2));
  await is("m1 10.9.0.2");
  assert.deepEqual(
    history.filter((one) => one !== "lost m1"),
    ["put m1", "put m1"],
  );
  await end(done);
});

test("claims of one machine with different proofs are handed on side by side", async () => {
  const stop = new AbortController();
  const bus = await connectBus({ url: "embedded:machines-claims", clientName: "t", log: noopLogger }, stop.signal);
  const values = await bus.keyValue(registrationReportBucket);
  const proven = { ...machine("m1", 1), identities: ["spiffe://cluster.local/ns/n/sa/vm"] };
  await values.put("one", encodeRegisteredWorkloads([proven, machine("m1", 2)]));
  const source = registeredWorkloadSource({ bus, graceMs: 10_000, log: noopLogger, nowMs: Date.now, counters });
  const groups = source.groups(stop.signal)[Symbol.asyncIterator]();
  try {
    const { value } = (await groups.next()) as { readonly value: { readonly inputs: readonly unknown[] } };
    assert.equal(value.inputs.length, 2);
  } finally {
    stop.abort();
    await groups.return?.();
    await bus[Symbol.asyncDispose]();
  }
});

test("a bucket that cannot be opened is tried again, and its machines come then", async () => {
  const stop = new AbortController();
  await using bus = await connectBus(
    { url: "embedded:machines-refused", clientName: "t", log: noopLogger },
    stop.signal,
  );
  const reports = await bus.keyValue(registrationReportBucket);
  await reports.put("one", encodeRegisteredWorkloads([machine("m1", 1)]));
  let attempts = 0;
  const keyValue: typeof bus.keyValue = (...given) =>
    ++attempts < 2 ? Promise.reject(new Error("maximum number of streams reached")) : bus.keyValue(...given);
  const refusing = Object.assign(Object.create(bus) as typeof bus, { keyValue });
  const source = registeredWorkloadSource({
    bus: refusing,
    graceMs: 10_000,
    log: noopLogger,
    nowMs: () => 0,
    counters,
  });
  for await (const { inputs } of source.groups(stop.signal)) {
    assert.deepEqual(
      inputs.map((input) => input.type === "machine" && input.machine.key.instance),
      ["m1"],
    );
    break;
  }
  stop.abort();
  assert.equal(attempts, 2);
});
