/** Reports that the bus refuses: the work fails, which is counted where it is kept running, and its next run writes them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Bus, KeyValue } from "@flotilla/bus";
import { until } from "@flotilla/runtime";
import { Core } from "../app/core.ts";
import { trustReports } from "../debug/trust-report.ts";
import type { StreamRecord } from "../serve/stream-record.ts";
import { Distribution, distributionReports } from "./distribution.ts";
import { RegisteredWorkloads, registrationReports } from "./registered-workloads.ts";

const core = new Core();
const none = () => [];
const distribution = new Distribution({
  ...{ replica: "r", core, streams: none, position: () => 1, epoch: () => "e" },
  ...{ lastChange: () => undefined, nowMs: () => 0, isSettling: () => false },
});
const machines = new RegisteredWorkloads();
const proxy = { id: "vm.n", namespace: "n", network: "", ipAddresses: ["10.9.0.1"], labels: {}, locality: {} };
const metadata = { AUTO_REGISTER_GROUP: "vms" };
machines.observer.opened?.({ id: "vm", proxy: { ...proxy, metadata }, identities: [] } as unknown as StreamRecord);

/** A report that others wait for is removed when the replica stops; the others vanish with their time. */
const cases: readonly {
  readonly name: string;
  readonly reports: (bus: Bus, stop: AbortSignal) => Promise<void>;
  readonly isRemoved?: boolean;
}[] = [
  { name: "trusted roots", reports: trustReports({ core, streams: none }) },
  { name: "the distribution", reports: distributionReports(distribution), isRemoved: true },
  { name: "machines", reports: registrationReports(machines) },
];
for (const { name, reports, isRemoved = false } of cases)
  test(`reports of ${name} fail with the bus, and the next run writes them under the same key`, async () => {
    const stop = new AbortController();
    const keys: string[] = [];
    let written = 0;
    const put = async (key: string) => {
      keys.push(key);
      if (keys.length < 3) throw new Error("maximum message size exceeded");
      return ++written;
    };
    const removed: string[] = [];
    const values = { put, delete: async (key: string) => void removed.push(key) } as unknown as KeyValue;
    const bus = { state: { connected: true }, keyValue: async () => values } as unknown as Bus;
    for (let run = 0; run < 2; run++) await assert.rejects(reports(bus, stop.signal), /maximum message size/);
    const running = reports(bus, stop.signal);
    await until(() => written > 0, { withinMs: 30_000, what: "the report", everyMs: 5 });
    assert.equal(new Set(keys).size, 1);
    assert.deepEqual(removed, []);
    stop.abort();
    await running;
    assert.deepEqual(removed, isRemoved ? [keys[0]] : []);
  });

test("a change after a quiet time is reported", async () => {
  const stop = new AbortController();
  let position = 1;
  const quiet = new Distribution({
    ...{ replica: "r", core, streams: none, position: () => position, epoch: () => "e" },
    ...{ lastChange: () => undefined, nowMs: () => 0, isSettling: () => false },
  });
  let written = 0;
  const values = { put: async () => ++written, delete: async () => undefined } as unknown as KeyValue;
  const bus = { state: { connected: true }, keyValue: async () => values } as unknown as Bus;
  const running = distributionReports(quiet)(bus, stop.signal);
  await until(() => written === 1 && quiet.isComplete, { withinMs: 30_000, what: "the first report" });
  position = 2;
  quiet.observer.opened?.({ id: "vm" } as unknown as StreamRecord);
  await until(() => written === 2, { withinMs: 5_000, what: "the next report" });
  stop.abort();
  await running;
});
