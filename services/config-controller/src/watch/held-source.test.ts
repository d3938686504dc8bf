/** A directory that becomes empty is held, while it runs and over a restart, until objects come back or it is confirmed. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { Config, ConfigChange, ConfigKey } from "@flotilla/model";
import { noopLogger } from "@flotilla/runtime";
import type { ConfigGroup, ConfigSource } from "./config-source.ts";
import { emptyMarker, HeldSource } from "./held-source.ts";

const keyOf = (name: string): ConfigKey => ({ kind: "Sidecar", namespace: "shop", name });
const put = (name: string): ConfigChange => ({ type: "config", op: "put", key: keyOf(name), value: configOf(name) });
const remove = (name: string): ConfigChange => ({ type: "config", op: "delete", key: keyOf(name) });

function configOf(name: string, file = "mesh.yaml"): Config {
  const provenance = { source: "file", location: `${directory}/${file}:1` };
  return { key: keyOf(name), generation: 1, creationTimeMs: 0, spec: {}, labels: {}, annotations: {}, provenance };
}

let directory = "";
let stop = new AbortController();

/** A source whose groups are given, in order; it stays open after them. */
function sourceOf(groups: readonly (readonly ConfigChange[])[], published: readonly Config[] = []) {
  const inner: ConfigSource = {
    name: "directory",
    problems: () => [],
    async *groups(until): AsyncGenerator<ConfigGroup, void, undefined> {
      for (const changes of groups) yield { changes: [...changes], eventTimeMs: 1 };
      await new Promise((resolve) => until.addEventListener("abort", resolve, { once: true }));
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  const held: number[] = [];
  const source = new HeldSource(inner, {
    path: directory,
    published: (isWanted) => published.filter(isWanted),
    log: noopLogger,
    onProblems: () => undefined,
    onHeld: (objects) => void held.push(objects),
    lookMs: 5,
  });
  const arriving = source.groups(stop.signal);
  const next = async (): Promise<readonly string[]> => {
    const { value } = await arriving.next();
    return (value?.changes ?? []).map(({ op, key }: ConfigChange) => `${op} ${key.name}`);
  };
  return { source, next, held, confirm: () => writeFileSync(join(directory, emptyMarker), "") };
}

describe("a directory that has become empty", () => {
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "flotilla-held-"));
    stop = new AbortController();
  });
  afterEach(() => {
    stop.abort();
    rmSync(directory, { recursive: true });
  });

  it("takes nothing out of force, and shows that, until it is confirmed", async () => {
    const { source, next, held, confirm } = sourceOf([
      [put("a"), put("b")],
      [remove("a"), remove("b")],
    ]);
    assert.deepEqual(await next(), ["put a", "put b"]);
    const after = next();
    await new Promise(setImmediate);
    assert.deepEqual(held, [2]);
    assert.match(source.condition()?.detail ?? "", /has become empty: its 2 objects stay in force .*\.flotilla-empty/);
    assert.equal(source.condition()?.blocks, false);
    assert.deepEqual(
      source.problems().map(({ file }) => file),
      [`${directory}/`],
    );
    confirm();
    assert.deepEqual(await after, ["delete a", "delete b"]);
    assert.deepEqual([held, source.problems(), source.condition()], [[2, 0], [], undefined]);
  });

  it("loses what is not among the objects that come back", async () => {
    const { next, held } = sourceOf([
      [put("a"), put("b")],
      [remove("a"), remove("b")],
      [put("b"), put("c")],
    ]);
    await next();
    assert.deepEqual(await next(), ["delete a", "put b", "put c"]);
    assert.deepEqual(held, [2, 0]);
  });

  it("is followed at once where the marker is there already, and while one object is left", async () => {
    const { next, held, confirm } = sourceOf([[put("a"), put("b")], [remove("a")], [remove("b")]]);
    assert.deepEqual(await next(), ["put a", "put b"]);
    assert.deepEqual(await next(), ["delete a"]);
    confirm();
    assert.deepEqual(await next(), ["delete b"]);
    assert.deepEqual(held, []);
  });

  it("at the start is held where the bus has objects of its files, from any source", async () => {
    const elsewhere = { ...configOf("c"), provenance: { source: "file", location: "/other/mesh.yaml:1" } };
    const { source, next, held, confirm } = sourceOf(
      [[]],
      [configOf("a"), configOf("b", "below/more.yaml"), elsewhere],
    );
    assert.deepEqual(await next(), []);
    assert.deepEqual(held, [2]);
    assert.equal(source.problems()[0]?.file, `${directory}/`);
    const after = next();
    confirm();
    assert.deepEqual([await after, held], [[], [2, 0]]);
  });

  it("at the start is nothing special where the bus has none of its objects", async () => {
    const { source, next, held } = sourceOf([[]]);
    assert.deepEqual([await next(), held, source.problems()], [[], [], []]);
  });
});
