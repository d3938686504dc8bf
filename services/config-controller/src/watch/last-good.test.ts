import assert from "node:assert/strict";
import { test } from "node:test";
import type { Config, ConfigChange, ConfigKey } from "@flotilla/model";
import type { SourceProblem } from "@flotilla/sources";
import { AggregateStore } from "../aggregate/aggregate-store.ts";
import { LastGood, lastGoodName } from "./last-good.ts";

const keyOf = (name: string): ConfigKey => ({ kind: "Sidecar", namespace: "shop", name });

function sidecar(name: string, spec: string, location: string): Config {
  const provenance = { source: "file", location };
  return { key: keyOf(name), labels: {}, annotations: {}, creationTimeMs: 0, spec, provenance };
}

/** A store of one source beside what the bus had: `a` in one.yaml, `b` and `c` in two.yaml. */
async function world(run: (world: ReturnType<typeof parts>) => Promise<void>) {
  const stop = new AbortController();
  const setUp = parts(stop.signal);
  try {
    await setUp.next();
    await run(setUp);
  } finally {
    stop.abort();
  }
}

function parts(stop: AbortSignal) {
  const bus = [sidecar("a", "1", "one.yaml:1"), sidecar("b", "1", "two.yaml:1"), sidecar("c", "1", "two.yaml:9")];
  const gateway = { ...keyOf("g"), kind: "KubernetesGateway" };
  bus.push({ ...sidecar("g", "1", "three.yaml:1"), key: gateway });
  const problems: SourceProblem[] = [];
  const view = new AggregateStore(["directory", lastGoodName]);
  let scans = 0;
  const published = {
    get: (key: ConfigKey) => {
      const config = bus.find((one) => one.key.name === key.name && one.key.kind === key.kind);
      return config && { config };
    },
    *all(isWanted: (key: ConfigKey) => boolean) {
      scans++;
      for (const config of bus) if (isWanted(config.key)) yield { config };
    },
  };
  const source = new LastGood({
    ...{ sources: [{ problems: () => problems }], view, published, nowMs: Date.now, graceMs: 30 },
  });
  const groups = source.groups(stop);
  const next = async (): Promise<readonly string[]> => {
    const { changes = [] } = (await groups.next()).value ?? {};
    view.apply(lastGoodName, changes);
    return changes.map(({ op, key }: ConfigChange) => `${op} ${key.name}`);
  };
  const say = (...now: readonly SourceProblem[]) => {
    problems.splice(0, problems.length, ...now);
    source.note();
  };
  return { source, view, next, say, scans: () => scans };
}

const refused = (name: string) => ({ file: "one.yaml", line: 1, object: `Sidecar/shop/${name}`, reason: "is wrong" });

test("a refused object without another source stays as the bus has it, until it is there no more", () =>
  world(async ({ source, view, next, say }) => {
    say(refused("a"));
    assert.deepEqual([source.isIncomplete(keyOf("a")), source.isIncomplete(keyOf("b"))], [true, false]);
    assert.deepEqual(await next(), ["put a"]);
    assert.equal(view.get(keyOf("a"))?.spec, "1");
    say();
    assert.deepEqual(await next(), ["delete a"]);
  }));

test("an object that is good again is its source's, and was never gone", () =>
  world(async ({ view, next, say }) => {
    say(refused("a"));
    await next();
    const value = sidecar("a", "2", "one.yaml:1");
    const changes = view.apply("directory", [{ type: "config", op: "put", key: value.key, value }]);
    assert.deepEqual([changes.length, view.get(keyOf("a"))?.spec], [1, "2"]);
    say();
    assert.deepEqual(await next(), ["delete a"]);
    assert.equal(view.get(keyOf("a"))?.spec, "2");
  }));

test("a file that cannot be read keeps what was in it", () =>
  world(async ({ source, next, say }) => {
    say({ file: "two.yaml", line: 3, reason: "is no YAML" });
    assert.deepEqual([source.isIncomplete(keyOf("a")), source.isIncomplete(keyOf("b"))], [false, true]);
    assert.deepEqual(await next(), ["put b", "put c"]);
  }));

test("objects that a source has are not adopted", () =>
  world(async ({ view, next, say }) => {
    const value = sidecar("a", "1", "one.yaml:1");
    view.apply("directory", [{ type: "config", op: "put", key: value.key, value }]);
    say(refused("a"), refused("b"));
    assert.deepEqual(await next(), ["put b"]);
  }));

test("refused objects are looked up; only whole files need all objects", () =>
  world(async ({ next, say, scans }) => {
    say(refused("a"));
    assert.deepEqual(await next(), ["put a"]);
    assert.equal(scans(), 0);
    say(refused("a"), { file: "two.yaml", line: 3, reason: "is no YAML" });
    assert.deepEqual(await next(), ["put b", "put c"]);
    assert.ok(scans() > 0);
  }));

test("a refused object of a kind whose name two APIs have stays too", () =>
  world(async ({ next, say }) => {
    say({ ...refused("g"), object: "Gateway/shop/g" }, { ...refused("none"), object: "k8s://" });
    assert.deepEqual(await next(), ["put g"]);
  }));
