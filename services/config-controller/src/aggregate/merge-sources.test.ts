import assert from "node:assert/strict";
import { test } from "node:test";
import type { ConfigChange } from "@flotilla/model";
import { BoundedQueue } from "@flotilla/runtime";
import type { ConfigGroup, ConfigSource } from "../watch/config-source.ts";
import { AggregateStore } from "./aggregate-store.ts";
import { mergeSources } from "./merge-sources.ts";

function put(name: string, spec: string): ConfigChange {
  const key = { kind: "Sidecar", namespace: "n", name };
  return { type: "config", op: "put", key, value: { key, labels: {}, annotations: {}, creationTimeMs: 0, spec } };
}

/** A source that yields what the test gives it. */
function source(name: string) {
  const queue = new BoundedQueue<ConfigGroup>(10);
  const value: ConfigSource = {
    name,
    problems: () => [],
    async *groups(stop) {
      stop.addEventListener("abort", () => queue.close(), { once: true });
      yield* queue;
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
  return {
    value,
    say: (...changes: ConfigChange[]) => queue.put({ changes, eventTimeMs: 1 }),
    fail: (error: Error) => queue.close(error),
  };
}

async function merged(
  run: (one: ReturnType<typeof source>, two: ReturnType<typeof source>, next: () => Promise<string>) => Promise<void>,
) {
  const [one, two] = [source("one"), source("two")];
  const stop = new AbortController();
  const groups = mergeSources([one.value, two.value], { store: new AggregateStore(["one", "two"]) }, stop.signal);
  const next = async () => {
    const { value } = await groups.next();
    const names = [...(value?.changes ?? [])].map((change) =>
      change.op === "put" ? `${change.key.name}=${change.value.spec}` : change.key.name,
    );
    return `${value?.snapshot === true ? "all " : ""}${names.sort().join(" ")}`;
  };
  try {
    await run(one, two, next);
  } finally {
    stop.abort();
    await groups.return();
  }
}

test("the snapshot waits for every source and holds one version of each object", () =>
  merged(async (one, two, next) => {
    await two.say(put("a", "2"), put("b", "2"));
    await one.say(put("a", "1"));
    assert.equal(await next(), "all a=1 b=2");
    await two.say(put("c", "2"));
    assert.equal(await next(), "c=2");
  }));

test("changes that the view does not show are not passed on", () =>
  merged(async (one, two, next) => {
    await one.say(put("a", "1"));
    await two.say();
    assert.equal(await next(), "all a=1");
    await two.say(put("a", "2"));
    await one.say(put("d", "1"));
    assert.equal(await next(), "d=1");
  }));

test("the failure of one source is the failure of all", () =>
  merged(async (one, two, next) => {
    await one.say();
    await two.say();
    await next();
    one.fail(new Error("broken"));
    await assert.rejects(next, /broken/);
  }));
