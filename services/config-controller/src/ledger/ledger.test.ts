import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Bus, connectBus, createPublisher, createSeal } from "@flotilla/bus";
import { type Change, type Config, configKeyText } from "@flotilla/model";
import { noopLogger, until } from "@flotilla/runtime";
import { PublishedConfig } from "../follow/published-config.ts";
import { Ledger } from "./ledger.ts";
import { diffPage, historyPage } from "./ledger-pages.ts";
import { LedgerRing } from "./ledger-ring.ts";

const seal = createSeal("a key for tests");
const log = noopLogger;
const never = new AbortController().signal;
const put = (name: string, weight: number, kind = "VirtualService", more = ""): Change => {
  const key = { kind, namespace: "shop", name };
  const spec = { http: [{ name: "main", weight }], more };
  return { type: "config", op: "put", key, value: { key, labels: {}, annotations: {}, creationTimeMs: 0, spec } };
};
const virtualService = (name: string) => configKeyText({ kind: "VirtualService", namespace: "shop", name });
const gone = ({ key }: Change): Change => ({ type: "config", op: "delete", key }) as Change;

/** A process that keeps the ledger on a bus of its own. */
async function keeper(bus: Bus, size = 100) {
  const stop = new AbortController();
  const ring = new LedgerRing({ values: await bus.keyValue("ledger"), size });
  await ring.load();
  const published = new PublishedConfig({ bus, seal, log });
  const ledger = new Ledger({ published, maxBytes: 10_000, log });
  await published.begin();
  const running = Promise.all([
    published.follow(stop.signal),
    ledger.keepIn(ring, stop.signal),
    ring.watch(stop.signal),
  ]);
  const kept = () =>
    until(() => ring.last?.position === published.position, { withinMs: 30_000, what: "the generation to be kept" });
  /** Changes that arrive while following begins come as one. */
  const seen = async (publishing: Promise<unknown>) => {
    const before = published.position;
    await publishing;
    await until(() => published.position > before, { withinMs: 30_000, what: "the generation" });
    await kept();
  };
  const end = async () => {
    stop.abort();
    await running;
  };
  return { ring, ledger, published, kept, seen, [Symbol.asyncDispose]: end };
}

const connect = (name: string) => connectBus({ url: `embedded:ledger-${name}`, clientName: "t", log }, never);
const publisherOn = (bus: Bus) =>
  createPublisher({ bus, publisher: "config-controller", seal, log, nowMs: () => 1_700_000_000_000 });
const weightOf = (content: unknown) => (content as Config | undefined)?.spec as { http: { weight: number }[] };
const page = async (handler: ReturnType<typeof diffPage>, query: string) =>
  (await handler({ query: new URLSearchParams(query) } as never)) as { status?: number; json: unknown };

describe("ledger", () => {
  it("lists each generation with its source, and reads any of them back", async () => {
    await using bus = await connect("basic");
    const publisher = publisherOn(bus);
    await publisher.synchronize([put("a", 1)]);
    await using one = await keeper(bus);
    const first = one.published.position;
    const publish = async (changes: readonly Change[]) => {
      await one.seen(publisher.publish(changes, { source: "directory" }));
      return one.published.position;
    };
    const second = await publish([put("a", 2), put("b", 1)]);
    const third = await publish([gone(put("a", 0)), put("s", 1, "Secret")]);

    const listed = (await page(historyPage(one.ledger), "")).json as { generations: Record<string, unknown>[] };
    assert.deepEqual(
      listed.generations.map(({ generation, changes }) => [generation, changes]),
      [
        [third, 2],
        [second, 2],
        [first, 0],
      ],
    );
    assert.match(`${listed.generations[0]?.["by"]}`, /^config-controller \w{8}\/3 from directory at 2023-/);

    const at = async (position: number) => [...(await one.ledger.at(position)).keys()];
    assert.deepEqual(await at(first), ["VirtualService/shop/a"]);
    assert.deepEqual(await at(second), ["VirtualService/shop/a", "VirtualService/shop/b"]);
    assert.deepEqual(await at(third), ["Secret/shop/s", "VirtualService/shop/b"]);
    const before = (await one.ledger.at(first)).get(virtualService("a"));
    assert.equal(weightOf(before).http[0]?.weight, 1);
    assert.doesNotMatch(JSON.stringify([...(await one.ledger.at(third))]), /main.*Secret|Secret.*weight.*Virtual/);

    const diff = await page(diffPage(one.ledger), `from=${first}&to=${second}`);
    assert.deepEqual((diff.json as { objects: unknown }).objects, [
      {
        object: "VirtualService/shop/a",
        op: "changed",
        differences: [{ path: "spec.http[main].weight", before: 1, after: 2 }],
      },
      {
        object: "VirtualService/shop/b",
        op: "created",
        differences: [
          { path: "labels", before: undefined, after: {} },
          { path: "annotations", before: undefined, after: {} },
          { path: "spec", before: undefined, after: { http: [{ name: "main", weight: 1 }], more: "" } },
        ],
      },
    ]);
    const back = (await page(diffPage(one.ledger), `from=${second}&to=${first}`)).json as {
      readonly objects: readonly { readonly object: string; readonly op: string; readonly differences: unknown }[];
    };
    assert.deepEqual(
      back.objects.map(({ object, op }) => [object, op]),
      [
        ["VirtualService/shop/a", "changed"],
        ["VirtualService/shop/b", "deleted"],
      ],
    );
    assert.deepEqual(back.objects[0]?.differences, [{ path: "spec.http[main].weight", before: 2, after: 1 }]);
    const withContents = await page(diffPage(one.ledger), `from=${first}&to=${second}&contents=true`);
    const [changedObject, createdObject] = (withContents.json as { objects: Record<string, unknown>[] }).objects;
    const manifest = (name: string, weight: number) => ({
      apiVersion: "networking.istio.io/v1",
      kind: "VirtualService",
      metadata: { name, namespace: "shop" },
      spec: { http: [{ name: "main", weight }], more: "" },
    });
    assert.deepEqual(changedObject?.["before"], manifest("a", 1));
    assert.deepEqual(changedObject?.["after"], manifest("a", 2));
    assert.deepEqual([createdObject?.["before"], createdObject?.["after"]], [undefined, manifest("b", 1)]);

    const tooOld = await page(diffPage(one.ledger), `from=${first - 1}&to=${second}`);
    assert.equal(tooOld.status, 400);
    assert.match(JSON.stringify(tooOld.json), /is not kept, those from/);
  });

  it("is bounded, and survives its process; what changed meanwhile is a generation too", async () => {
    await using bus = await connect("bounded");
    const publisher = publisherOn(bus);
    await publisher.synchronize([put("a", 0), put("b", 0)]);
    {
      await using one = await keeper(bus, 5);
      for (let i = 1; i <= 12; i++) await one.seen(publisher.publish([put("a", i)]));
      await until(() => one.ledger.history().length === 5 && one.ring.last?.number === 13, {
        ...{ withinMs: 30_000, what: "twelve generations and the beginning" },
      });
      const [oldest] = one.ledger.history();
      assert.equal(weightOf((await one.ledger.at(oldest?.position ?? 0)).get(virtualService("a"))).http[0]?.weight, 8);
      await assert.rejects(one.ledger.at((oldest?.position ?? 0) - 1), { code: "CONFIG_NOT_KEPT" });
    }
    await publisher.publish([put("a", 13), gone(put("b", 0))]);
    await using two = await keeper(bus, 5);
    await two.kept();
    assert.deepEqual(two.ring.last?.objects, [
      { object: "VirtualService/shop/a", op: "changed" },
      { object: "VirtualService/shop/b", op: "deleted" },
    ]);
    const oldest = two.ledger.history()[0]?.position ?? 0;
    assert.match(
      JSON.stringify((await two.ledger.at(oldest)).get(virtualService("b"))),
      /no replica recorded the history/,
    );
  });

  it("replicas keep each generation once", async () => {
    await using bus = await connect("replicas");
    const publisher = publisherOn(bus);
    await publisher.synchronize([]);
    await using one = await keeper(bus);
    await using two = await keeper(bus);
    await two.seen(one.seen(publisher.publish([put("a", 1)])));
    for (let i = 2; i <= 30; i++) await publisher.publish([put(`a${i}`, i)]);
    await until(() => one.ring.last?.number === 31 && two.ring.last?.number === 31, {
      ...{ withinMs: 30_000, what: "thirty generations in both" },
    });
    const positions = one.ledger.history().map(({ position }) => position);
    assert.equal(new Set(positions).size, 31);
    assert.deepEqual(two.ledger.history(), one.ledger.history());
  });

  it("keeps a large generation in parts, and says of a large object that it does not keep it", async () => {
    await using bus = await connect("large");
    const publisher = publisherOn(bus);
    await publisher.synchronize([]);
    await using one = await keeper(bus);
    const many = Array.from({ length: 200 }, (_, i) => put(`a${i}`, 1, "VirtualService", "x".repeat(4_000)));
    const all = [...many, put("huge", 1, "VirtualService", "x".repeat(20_000))];
    await one.seen(publisher.publish(all));
    const [first, full] = [one.ledger.history()[0]?.position ?? 0, one.published.position];
    await one.seen(publisher.publish(all.map(gone)));
    assert.equal(one.ring.last?.parts, 4, "what was there before has a megabyte");
    assert.equal((await one.ledger.at(first)).size, 0);
    assert.equal((await one.ledger.at(one.published.position)).size, 0);
    const state = await one.ledger.at(full);
    assert.equal(state.size, 201);
    assert.match(JSON.stringify(state.get(virtualService("huge"))), /too many to be kept/);
    const changed = await one.ledger.between(first, full);
    assert.equal(changed.size, 201);
    assert.deepEqual(changed.get(virtualService("a7"))?.after, state.get(virtualService("a7")));
  });
});
