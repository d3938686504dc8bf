import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { loadBetween, loadRows, type ReplicaLoad } from "./load.ts";

const reading = (atMs: number, sums: Readonly<Record<string, number>>) => ({
  atMs,
  sums: new Map(Object.entries(sums)),
});
const load = (
  service: string,
  before: Readonly<Record<string, number>>,
  now: Readonly<Record<string, number>>,
  ms = 2_000,
) => loadBetween(service, "r", reading(0, before), reading(ms, now));

describe("the load of a replica", () => {
  const cases: readonly (readonly [name: string, found: ReplicaLoad, expected: object])[] = [
    [
      "is what it holds, and what grew a second",
      load(
        "xds-server",
        { process_cpu_seconds_total: 1, pilot_xds_pushes: 10 },
        {
          ...{ process_cpu_seconds_total: 2, pilot_xds_pushes: 16, process_resident_memory_bytes: 7, pilot_xds: 3 },
          ...{ nodejs_heap_size_used_bytes: 5, nodejs_eventloop_lag_p99_seconds: 0.1, process_open_fds: 9 },
        },
      ),
      {
        ...{ replica: "r", cpu: 0.5, memoryBytes: 7, heapBytes: 5, loopDelaySeconds: 0.1, openFiles: 9, proxies: 3 },
        ...{ perSecond: 3, unit: "messages" },
      },
    ],
    [
      "counts all kinds of work, from zero where they are new",
      load("webhook", { galley_validation_passed: 1 }, { galley_validation_passed: 2, galley_validation_failed: 3 }),
      { replica: "r", perSecond: 2, unit: "requests" },
    ],
    [
      "is nothing where it began anew",
      load("ca", { citadel_server_success_cert_issuance_count: 9 }, { citadel_server_success_cert_issuance_count: 1 }),
      { replica: "r", perSecond: 0, unit: "certificates" },
    ],
    ["has no work where that is not counted", load("ca", {}, {}), { replica: "r", unit: "certificates" }],
    ["has no work of a service without a metric", load("console", {}, { pilot_xds_pushes: 1 }), { replica: "r" }],
    [
      "has no rate without time in between",
      load("ca", {}, { process_cpu_seconds_total: 1 }, 0),
      { replica: "r", unit: "certificates" },
    ],
  ];
  for (const [name, found, expected] of cases) it(name, () => assert.deepEqual(found, expected));

  it("is shown in rows, with a dash for what is not known", () => {
    const rows = loadRows([
      {
        ...{
          replica: "a",
          cpu: 0.1234,
          memoryBytes: 3 * 1024 ** 2,
          heapBytes: 1.6 * 1024 ** 2,
          loopDelaySeconds: 0.01234,
        },
        ...{ openFiles: 9, proxies: 0, perSecond: 1.25, unit: "messages" },
      },
      { replica: "b", cpu: Number.NaN },
      { replica: "c", perSecond: 2 },
      { replica: "d", problem: "no answer" },
    ]);
    assert.deepEqual(rows, [
      ["REPLICA", "CPU", "MEMORY", "HEAP", "LOOP P99", "FILES", "PROXIES", "WORK"],
      ["a", "12.3%", "3Mi", "2Mi", "12.3ms", "9", "0", "1.3 messages/s"],
      ["b", "-", "-", "-", "-", "-", "-", "-"],
      ["c", "-", "-", "-", "-", "-", "-", "2.0 /s"],
      ["d", "no answer"],
    ]);
  });
});
