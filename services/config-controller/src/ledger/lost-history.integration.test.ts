/** The history on a real NATS server that comes back without its disk, or with an older copy of it. */
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, beforeEach, describe, it } from "node:test";
import { type Bus, connectBus, createPublisher } from "@flotilla/bus";
import type { Change, ConfigKey } from "@flotilla/model";
import { createMetrics, FailingWork, noopLogger, until } from "@flotilla/runtime";
import { type RunningServer, startNats } from "@flotilla/servers";
import { PublishedConfig } from "../follow/published-config.ts";
import { openLedger } from "./open-ledger.ts";

const root = mkdtempSync(join(tmpdir(), "flotilla-lost-history-"));
const [directory, older] = [join(root, "server"), join(root, "older")];
const log = noopLogger;
let server: RunningServer | undefined;

const put = (weight: number): Change => {
  const key = { kind: "VirtualService", namespace: "shop", name: "a" };
  return {
    type: "config",
    op: "put",
    key,
    value: { key, labels: {}, annotations: {}, creationTimeMs: 0, spec: { weight } },
  };
};
const soon = (what: string) => ({ withinMs: 60_000, what });

/** As config-controller runs it, with a publisher. */
async function keeper() {
  const stop = new AbortController();
  const bus = await connectBus({ url: server?.url ?? "", clientName: "t", log }, stop.signal);
  const published = new PublishedConfig({ bus, seal: undefined, log });
  const conditions = new Map<string, string | undefined>();
  const health = { setCondition: (name: string, detail?: string) => void conditions.set(name, detail) };
  const { ledger, run } = openLedger({
    ...{ bus, published, size: 50, compareEveryMs: 200, log, health },
    failures: new FailingWork(createMetrics(), health),
  });
  await published.begin();
  const running = Promise.all([published.follow(stop.signal), run(stop.signal)]);
  const end = async () => {
    stop.abort();
    await running;
    await bus[Symbol.asyncDispose]();
  };
  const newest = () => ledger.history().at(-1)?.position;
  const publisher = createPublisher({ bus, publisher: "config-controller", seal: undefined, log, nowMs: Date.now });
  await publisher.synchronize([put(0)]);
  /** Resolves when it is a generation of the history. */
  const change = async (weight: number) => {
    const weightOf = () => JSON.stringify(published.get(put(weight).key as ConfigKey)?.config.spec);
    await publisher.publish([put(weight)]);
    await until(() => weightOf() === JSON.stringify({ weight }), soon("the change"));
    await until(() => newest() === published.position, soon("the generation to be kept"));
  };
  return { bus, published, ledger, conditions, change, [Symbol.asyncDispose]: end };
}

async function comeBack({ bus }: { readonly bus: Bus }, change: () => void): Promise<void> {
  const port = server?.port ?? 0;
  await server?.kill();
  await until(() => !bus.state.connected, soon("the connection to be lost"));
  change();
  server = await startNats({ directory, env: process.env, port });
  await until(() => bus.state.connected, soon("the connection"));
}

describe("the history of a NATS server that lost writes", () => {
  beforeEach(async () => {
    await server?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
    server = await startNats({ directory, env: process.env });
  });
  after(async () => {
    await server?.[Symbol.asyncDispose]();
    rmSync(root, { recursive: true, force: true });
  });

  it("begins anew when all is gone, and says what was lost", { timeout: 120_000 }, async () => {
    await using one = await keeper();
    for (let weight = 1; weight <= 3; weight++) await one.change(weight);
    const before = one.ledger.history().length;
    await comeBack(one, () => rmSync(directory, { recursive: true, force: true }));
    await until(() => one.conditions.get("lost history"), soon("the loss to be named"));
    assert.match(one.conditions.get("lost history") ?? "", /the bus lost record 1, record 2.* of the history/);
    await one.change(4);
    assert.ok(one.ledger.history().length < before, `${one.ledger.history().length} of ${before}`);
  });

  it("reads nothing back over the gap when the last ones are gone", { timeout: 120_000 }, async () => {
    await using one = await keeper();
    await one.change(1);
    await comeBack(one, () => cpSync(directory, older, { recursive: true }));
    await one.change(2);
    const [oldest] = one.ledger.history();
    await comeBack(one, () => {
      rmSync(directory, { recursive: true, force: true });
      cpSync(older, directory, { recursive: true });
    });
    await until(() => one.conditions.get("lost history"), soon("the loss to be named"));
    await assert.rejects(one.ledger.at(oldest?.position ?? 0), /is not kept, those from/);
    await one.change(3);
    await assert.rejects(one.ledger.at(oldest?.position ?? 0), /is not kept, those from/);
    const [state] = [...(await one.ledger.at(one.published.position)).values()];
    assert.match(JSON.stringify(state), /"weight":3/);
  });
});
