import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { connectBus } from "@flotilla/bus";
import { type DistributionReport, distributionTtlMs } from "@flotilla/model";
import { noopLogger, until } from "@flotilla/runtime";
import { Distributions, type ObjectDistribution } from "./distributions.ts";

const object = "VirtualService/shop/a";
const change = { object, position: 5, epoch: "e" };
const report = (more: Partial<DistributionReport> = {}): DistributionReport => ({
  ...{ replica: "r", epoch: "e", position: 9, answered: [], behind: [], objects: {}, refusals: [], findings: [] },
  ...more,
});
const refusal = (proxy: string, position: number, objects: readonly string[] = [object]) => ({
  ...{ proxy, position, objects: [...objects], typeUrl: "t", message: "no", resources: [], atMs: 0 },
});

interface Case {
  readonly name: string;
  readonly reports: readonly DistributionReport[];
  readonly is: Partial<ObjectDistribution>;
}

const cases: readonly Case[] = [
  { name: "no replica reports", reports: [], is: { live: 0, concerned: 0, isPrecise: true, replicas: 0 } },
  {
    name: "a replica that knows the object counts what it reached",
    reports: [
      report({
        objects: { [object]: { position: 5, reached: 2, waiting: 1 } },
        answered: [[9, 7]],
        behind: ["a", "b"],
      }),
    ],
    is: { live: 2, concerned: 3, isPrecise: true, behind: ["a", "b"], replicas: 1 },
  },
  {
    name: "an older change of the object counts for nothing: all proxies that answered do",
    reports: [
      report({
        objects: { [object]: { position: 4, reached: 2, waiting: 1 } },
        answered: [
          [4, 3],
          [5, 2],
          [6, 1],
        ],
      }),
    ],
    is: { live: 3, concerned: 6, isPrecise: false },
  },
  {
    name: "a replica without proxies is precise",
    reports: [report()],
    is: { live: 0, concerned: 0, isPrecise: true, behind: [], replicas: 1 },
  },
  {
    name: "a replica of another sequence has reached no proxy",
    reports: [report({ epoch: "old", answered: [[9, 4]], refusals: [refusal("p", 9)] })],
    is: { live: 0, concerned: 4, isPrecise: false, refusals: [] },
  },
  {
    name: "replicas add up, and name five that are behind at most",
    reports: [
      report({ objects: { [object]: { position: 6, reached: 1, waiting: 2 } }, behind: ["a", "b", "c"] }),
      report({ objects: { [object]: { position: 5, reached: 3, waiting: 1 } }, behind: ["d", "e", "f"] }),
    ],
    is: { live: 4, concerned: 7, isPrecise: true, behind: ["a", "b", "c", "d", "e"], replicas: 2 },
  },
  {
    name: "no proxy is behind when none is waited for",
    reports: [report({ objects: { [object]: { position: 5, reached: 1, waiting: 0 } }, behind: ["a"] })],
    is: { live: 1, concerned: 1, behind: [] },
  },
  {
    name: "a proxy that refuses does not have it, once, and older or other refusals do not count",
    reports: [
      report({
        objects: { [object]: { position: 5, reached: 3, waiting: 0 } },
        refusals: [refusal("p", 5), refusal("p", 6), refusal("q", 4), refusal("r", 9, ["VirtualService/shop/b"])],
      }),
    ],
    is: { live: 2, concerned: 3, refusals: [refusal("p", 5), refusal("p", 6)] },
  },
  {
    name: "there are never fewer than none",
    reports: [report({ objects: { [object]: { position: 5, reached: 0, waiting: 1 } }, refusals: [refusal("p", 5)] })],
    is: { live: 0, concerned: 1 },
  },
];

describe("how far an object has come", () => {
  for (const { name, reports, is } of cases)
    it(name, () => {
      const distributions = new Distributions({ nowMs: () => 0 });
      for (const [index, one] of reports.entries()) distributions.note(`r${index}`, one);
      const found = distributions.of(change);
      for (const [field, value] of Object.entries(is))
        assert.deepEqual(found[field as keyof ObjectDistribution], value, field);
    });

  it("is asked again when a replica reports or is gone", () => {
    const distributions = new Distributions({ nowMs: () => 0 });
    let calls = 0;
    distributions.listen(() => calls++);
    assert.equal(distributions.hasReports, false);
    distributions.note("r", report({ refusals: [refusal("p", 5)] }));
    assert.deepEqual([distributions.hasReports, distributions.refusals().length, calls], [true, 1, 1]);
    distributions.note("r", undefined);
    assert.deepEqual([distributions.hasReports, distributions.refusals().length, calls], [false, 0, 2]);
  });

  it("counts a replica for as long as its report lives in the bus, which does not report its end", async () => {
    let now = 0;
    const distributions = new Distributions({ nowMs: () => now });
    const stop = new AbortController();
    await using bus = await connectBus(
      { url: "embedded:distributions", clientName: "t", log: noopLogger },
      stop.signal,
    );
    const watching = distributions.watch(bus, stop.signal);
    try {
      distributions.note("r1", report());
      now = 1;
      distributions.note("r2", report({ refusals: [refusal("of the second", 5)] }));
      now = distributionTtlMs + 1;
      const replicas = () => distributions.of(change).replicas;
      await until(() => replicas() < 2, { withinMs: 20_000, what: "the end of the first", everyMs: 10 });
      const left = distributions.refusals().map(({ proxy }) => proxy);
      assert.deepEqual(left, ["of the second"], "its report lives for another moment");
    } finally {
      stop.abort();
      await watching;
    }
  });

  it("is summed up for the fleet: proxies that have everything, that are on their way, and that refuse something", () => {
    const distributions = new Distributions({ nowMs: () => 0 });
    assert.deepEqual(distributions.fleet(), { total: 0, synced: 0, sending: 0, rejected: 0 });
    const answered: [number, number][] = [
      [9, 4],
      [8, 2],
    ];
    distributions.note("r1", report({ answered, refusals: [refusal("p", 5), refusal("p", 6), refusal("q", 9)] }));
    distributions.note("r2", report({ answered: [[10, 3]], position: 10 }));
    assert.deepEqual(distributions.fleet(), { total: 9, synced: 5, sending: 2, rejected: 2 });
    distributions.note("r2", undefined);
    distributions.note("r1", report({ answered: [[8, 1]], refusals: [refusal("p", 5)] }));
    assert.deepEqual(distributions.fleet(), { total: 1, synced: 0, sending: 1, rejected: 1 });
  });

  it("comes with what replicas found, each message once", () => {
    const distributions = new Distributions({ nowMs: () => 0 });
    const found = (one: string, message: string) => ({ object: one, message, metric: "m" });
    distributions.note("r1", report({ findings: [found("a", "x"), found("a", "y"), found("b", "x")] as never }));
    distributions.note("r2", report({ findings: [found("a", "x")] as never }));
    assert.deepEqual(Object.fromEntries(distributions.findings()), { a: ["x", "y"], b: ["x"] });
  });
});
