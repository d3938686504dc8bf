/** The history over its bucket: kept as it comes, and compared with what the bus has. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { type Bus, connectBus, createPublisher } from "@flotilla/bus";
import { createLogger, createMetrics, FailingWork, until } from "@flotilla/runtime";
import { PublishedConfig } from "../follow/published-config.ts";
import { aSidecar } from "../store/config-store.conformance.ts";
import { openLedger } from "./open-ledger.ts";

const soon = (what: string) => ({ withinMs: 20_000, what, everyMs: 2 });

it("the history is kept on the bus, and a loss there is logged and on the readiness page", async () => {
  const stop = new AbortController();
  const lines: string[] = [];
  const log = createLogger("t", "warn", { write: (line) => void lines.push(line) });
  await using bus = await connectBus({ url: "embedded:open-ledger", clientName: "t", log }, stop.signal);
  const config = aSidecar("shop", "a");
  const publisher = createPublisher({ bus, seal: undefined, publisher: "config-controller", log, nowMs: Date.now });
  await publisher.synchronize([{ type: "config", op: "put", key: config.key, value: config }]);
  const published = new PublishedConfig({ bus, seal: undefined, log });
  const conditions = new Map<string, string | undefined>();
  const health = { setCondition: (name: string, detail?: string) => void conditions.set(name, detail) };
  const values = await bus.keyValue("ledger");
  let comparisons = 0;
  let isLost = false;
  const counted = {
    ...values,
    entries: () => {
      comparisons++;
      return isLost ? Promise.resolve([]) : values.entries();
    },
  };
  const watched = {
    ...{ keyValue: async () => counted, maxMessageBytes: bus.maxMessageBytes, state: bus.state },
    onState: (listener: Parameters<Bus["onState"]>[0]) => bus.onState(listener),
  } as unknown as Bus;
  const { ledger, run } = openLedger({
    ...{ bus: watched, published, size: 50, compareEveryMs: 1, log, health },
    failures: new FailingWork(createMetrics(), health),
  });
  await published.begin();
  const running = Promise.all([published.follow(stop.signal), run(stop.signal)]);
  try {
    await until(() => ledger.history().at(-1)?.position === published.position, soon("the first generation"));
    const before = comparisons;
    await until(() => comparisons > before + 2, soon("comparisons"));
    assert.deepEqual([lines, conditions.get("lost history")], [[], undefined]);
    // As after a server came back without its disk, of which no watch reports anything.
    isLost = true;
    await until(() => conditions.get("lost history"), soon("the condition"));
    assert.match(conditions.get("lost history") ?? "", /the bus lost record 1 of the history, which begins anew/);
    assert.match(lines.join(""), /the bus lost records of the history/);
  } finally {
    stop.abort();
    await running;
  }
});
