import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Facet, Failure, Graph, type Query } from "./index.ts";

interface Pod {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
}

const pod = (namespace: string, labels: Record<string, string> = {}): Pod => ({ namespace, labels });
const namespaceOf: Facet<Pod, undefined, string> = { name: "namespace", read: (p) => p.namespace };
const label: Facet<Pod, string, string | undefined> = { name: "label", read: (p, key) => p.labels[key] };

/** Counts how often each query ran. */
function counted() {
  const runs: Record<string, number> = {};
  const query = <R>(name: string, compute: Query<Pod, string, R>["compute"]): Query<Pod, string, R> => ({
    name,
    compute: (context, arg) => {
      runs[name] = (runs[name] ?? 0) + 1;
      return compute(context, arg);
    },
  });
  return { runs, query };
}

function seededRandom(seed: number): (n: number) => number {
  let state = seed;
  return (n) => {
    state = (state * 1103515245 + 12345) & 0x7fffffff;
    return (state >> 8) % n;
  };
}

describe("graph", () => {
  it("computes once and again only after an input it read has changed", () => {
    const graph = new Graph<Pod>();
    const { runs, query } = counted();
    const twice = query("twice", (c, key) => (c.input<number>(key) ?? 0) * 2);
    graph.set("a", 1);
    graph.set("b", 1);
    graph.observe(twice, "a", pod("x"), () => {});
    graph.set("b", 2);
    assert.equal(graph.evaluate(twice, "a", pod("x")), 2);
    assert.equal(runs["twice"], 1);
    graph.set("a", 5);
    assert.equal(graph.evaluate(twice, "a", pod("x")), 10);
    assert.equal(runs["twice"], 2);
  });

  it("takes an input that equals what it was for no change, and keeps none that is removed", () => {
    const graph = new Graph<Pod>();
    const { runs, query } = counted();
    const size = query("size", (c, key) => c.input<{ readonly size: number }>(key)?.size);
    const equal = (a: { readonly size: number }, b: { readonly size: number }) => a.size === b.size;
    const changes: boolean[] = [];
    const set = (value: { readonly size: number } | undefined) => changes.push(graph.set("a", value, equal));
    set({ size: 1 });
    let stale = 0;
    const observation = graph.observe(size, "a", pod("x"), () => stale++);
    set({ size: 1 });
    assert.deepEqual([observation.again(), stale, runs["size"]], [true, 0, 1]);
    set({ size: 2 });
    assert.deepEqual([observation.again(), observation.value, stale, runs["size"]], [true, 2, 1, 2]);
    observation.release();
    set(undefined);
    set(undefined);
    assert.deepEqual(changes, [true, false, true, true, false]);
    assert.equal(graph.stats().inputs, 0);
  });

  it("keeps no result that is only asked for", () => {
    const graph = new Graph<Pod>();
    const { query } = counted();
    const inner = query("inner", (c, key) => c.input<number>(key));
    const outer = query("outer", (c, key) => c.read(inner, key));
    graph.set("a", 1);
    assert.equal(graph.evaluate(outer, "a", pod("x")), 1);
    assert.equal(graph.stats().results, 0);
    assert.deepEqual(graph.inputsOf(outer, "a", pod("x")), ["a"]);
    assert.deepEqual([graph.stats().inputs, graph.stats().results], [1, 0]);
  });

  it("stops a change where a result stays equal", () => {
    const graph = new Graph<Pod>();
    const { runs, query } = counted();
    const parity = query("parity", (c, key) => (c.input<number>(key) ?? 0) % 2);
    const text = query("text", (c, key) => (c.read(parity, key) === 0 ? "even" : "odd"));
    graph.set("n", 1);
    graph.observe(text, "n", pod("x"), () => {});
    graph.set("n", 3);
    assert.equal(graph.evaluate(text, "n", pod("x")), "odd");
    assert.deepEqual(runs, { parity: 2, text: 1 });
    graph.set("n", 4);
    assert.equal(graph.evaluate(text, "n", pod("x")), "even");
    assert.deepEqual(runs, { parity: 3, text: 2 });
  });

  it("a watch goes on without a new search while its question stays the same", () => {
    const graph = new Graph<Pod>();
    const { runs, query } = counted();
    const greeting = query("greeting", (c, key) => {
      const polite = c.input<boolean>(key) === true;
      return polite
        ? `dear ${c.facet(label, "name")} of ${c.facet(namespaceOf, undefined)}`
        : c.facet(namespaceOf, undefined);
    });
    const pods = [pod("x", { name: "a" }), pod("x", { name: "a" }), pod("x", { name: "b" })];
    graph.set("polite", false);
    const observed = pods.map((subject) => graph.observe(greeting, "polite", subject, () => {}));
    assert.deepEqual([runs["greeting"], new Set(observed.map(({ identity }) => identity)).size], [1, 1]);

    graph.set("polite", true);
    const [first, second, third] = observed;
    assert.deepEqual([first?.again(), first?.value], [true, "dear a of x"]);
    assert.equal(third?.again(), false, "it would be asked for its name, too");
    assert.equal(graph.observe(greeting, "polite", pods[2] ?? pod(""), () => {}).value, "dear b of x");
    assert.equal(second?.again(), false);
    assert.equal(graph.observe(greeting, "polite", pods[1] ?? pod(""), () => {}).identity, first?.identity);
    assert.equal(runs["greeting"], 3);
    assert.equal(first?.again(), true);
    assert.equal(runs["greeting"], 3);
  });

  it("records that something was missing", () => {
    const graph = new Graph<Pod>();
    const { query } = counted();
    const has = query("has", (c, key) => c.input(key) !== undefined);
    let stale = 0;
    graph.observe(has, "late", pod("x"), () => stale++);
    graph.set("late", "here");
    assert.equal(stale, 1);
    assert.equal(graph.evaluate(has, "late", pod("x")), true);
  });

  it("shares results between subjects that answer alike, and only between those", () => {
    const graph = new Graph<Pod>();
    const { runs, query } = counted();
    const greeting = query("greeting", (c) => {
      const namespace = c.facet(namespaceOf, undefined);
      return namespace === "special" ? `${namespace}/${c.facet(label, "app")}` : namespace;
    });
    const read = (p: Pod) => graph.observe(greeting, "", p, () => {}).value;
    assert.equal(read(pod("plain", { app: "a" })), "plain");
    assert.equal(read(pod("plain", { app: "b" })), "plain");
    assert.equal(runs["greeting"], 1);
    assert.equal(read(pod("special", { app: "a" })), "special/a");
    assert.equal(read(pod("special", { app: "b" })), "special/b");
    assert.equal(runs["greeting"], 3);
  });

  it("inherits the questions of what it reads, after a change of the questions too", () => {
    const graph = new Graph<Pod>();
    const { query } = counted();
    const inner = query("inner", (c) => (c.input("by-label") === true ? `label ${c.facet(label, "app")}` : "same"));
    const outer = query("outer", (c) => `[${c.read(inner, "")}]`);
    const [a, b] = [pod("x", { app: "a" }), pod("x", { app: "b" })];
    const first = graph.observe(outer, "", a, () => {});
    const second = graph.observe(outer, "", b, () => {});
    assert.equal(first.identity, second.identity);
    graph.set("by-label", true);
    assert.equal(graph.evaluate(outer, "", a), "[label a]");
    assert.equal(graph.evaluate(outer, "", b), "[label b]");
    graph.set("by-label", false);
    assert.equal(graph.evaluate(outer, "", b), "[same]");
    assert.equal(graph.evaluate(outer, "", a), "[same]");
  });

  it("distinguishes objects as arguments by identity, and forgets them with their results", () => {
    const graph = new Graph<Pod>();
    let runs = 0;
    const size: Query<Pod, { readonly size: number }, number> = {
      name: "size",
      compute: (_, arg) => {
        runs++;
        return arg.size;
      },
    };
    const [one, other] = [{ size: 1 }, { size: 1 }];
    const observed = [one, one, other].map((arg) => graph.observe(size, arg, pod("x"), () => {}));
    assert.equal(runs, 2);
    assert.equal(graph.stats().results, 2);
    for (const observation of observed) observation.release();
    assert.equal(graph.stats().results, 0);
  });

  it("drops unobserved results", () => {
    const graph = new Graph<Pod>();
    const { query } = counted();
    const leaf = query("leaf", (c, key) => c.input<number>(key));
    const root = query("root", (c) => [c.read(leaf, "a"), c.read(leaf, "b")]);
    graph.set("a", 1);
    const observation = graph.observe(root, "", pod("x"), () => {});
    assert.deepEqual(graph.stats(), { inputs: 2, results: 3, computations: 3 });
    observation.release();
    observation.release();
    assert.deepEqual(graph.stats(), { inputs: 1, results: 0, computations: 3 });
  });

  it("finds a result under its new questions alone, and counts it anew after it was dropped", () => {
    const graph = new Graph<Pod>();
    const { query } = counted();
    const labels = query("labels", (c, key) => `${c.facet(label, c.input<string>(key) ?? "")},${c.facet(label, "q")}`);
    const pods = [pod("x", { p: "1", r: "1", q: "1" }), pod("x", { p: "1", r: "2", q: "2" })];
    const observe = (subject: Pod) => graph.observe(labels, "first", subject, () => {});
    graph.set("first", "p");
    const observed = pods.map((subject) => ({ subject, observation: observe(subject) }));
    graph.set("first", "r");
    const present = observed.map(({ subject, observation }) => (observation.again() ? observation : observe(subject)));
    assert.deepEqual(
      present.map(({ value }) => value),
      ["1,1", "2,2"],
    );
    for (const one of [...observed.map(({ observation }) => observation), ...present]) one.release();
    assert.equal(graph.stats().results, 0);
    for (const [index, subject] of pods.entries()) {
      observe(subject);
      assert.equal(graph.stats().results, index + 1);
    }
  });

  it("reports which inputs made a result and keeps its findings as long as the result", () => {
    const graph = new Graph<Pod>();
    const { query } = counted();
    const check = query("check", (c, key) => {
      if (c.input(key) === "bad") c.report({ metric: "m", object: key, message: "is bad" });
      return null;
    });
    graph.set("o", "bad");
    graph.observe(check, "o", pod("x"), () => {});
    assert.deepEqual(graph.inputsOf(check, "o", pod("x")), ["o"]);
    assert.equal(graph.findings().length, 1);
    graph.set("o", "good");
    graph.evaluate(check, "o", pod("x"));
    assert.equal(graph.findings().length, 0);
  });

  it("counts of a catalogue the parts that its reader reads by itself, all where it reads none, and nothing of empty results", () => {
    const graph = new Graph<Pod>();
    const { query } = counted();
    const part = query("part", (c, key) => [c.input<number>(key)]);
    const all: Query<Pod, undefined, readonly unknown[]> = {
      ...{ name: "all", compute: (c) => ["a", "b"].map((key) => c.read(part, key)), provenance: "catalogue" },
    };
    const big: Query<Pod, string, readonly number[]> = {
      ...{ name: "big", compute: (c, key) => [c.input<number>(key) ?? 0].filter((one) => one > 9) },
      provenance: "unless-empty",
    };
    const taking = query("taking", (c, key) => [c.read(all, undefined).length, c.read(part, key)]);
    const listing = query("listing", (c) => c.read(all, undefined).length);
    const bigOnes = query("big-ones", (c) => [...c.read(big, "a"), ...c.read(big, "b")]);
    graph.set("a", 1);
    graph.set("b", 10);
    assert.deepEqual(graph.inputsOf(taking, "a", pod("x")), ["a"]);
    assert.deepEqual(graph.inputsOf(listing, "", pod("x")), ["a", "b"]);
    assert.deepEqual(graph.inputsOf(bigOnes, "", pod("x")), ["b"]);
    graph.set("a", 11);
    assert.deepEqual(graph.inputsOf(bigOnes, "", pod("x")), ["a", "b"]);
  });

  it("names the query that depends on itself", () => {
    const graph = new Graph<Pod>();
    const loop: Query<Pod, string, number> = { name: "loop", compute: (c, arg) => c.read(loop, arg) };
    assert.throws(() => graph.evaluate(loop, "x", pod("x")), /INCREMENTAL_CYCLE.*loop\(x\)/);
  });

  it("agrees with a fresh graph after any sequence of changes", () => {
    const { query } = counted();
    const pick = query("pick", (c, key) =>
      c.input<boolean>(`${key}/labelled`) ? c.facet(label, key) : c.input<number>(key),
    );
    const all = query("all", (c) => ["a", "b", "c"].map((key) => c.read(pick, key)).join());
    const values = ["1", "2"];
    const subjects = values.flatMap((a) => values.flatMap((b) => values.map((c) => pod("x", { a, b, c }))));
    const random = seededRandom(42);
    const graph = new Graph<Pod>();
    const inputs = new Map<string, number | boolean>();
    for (const subject of subjects) graph.observe(all, "", subject, () => {});
    for (let step = 0; step < 2000; step++) {
      const key = "abc"[random(3)] ?? "a";
      if (random(2) === 0) inputs.set(key, random(3));
      else inputs.set(`${key}/labelled`, random(2) === 0);
      for (const [k, v] of inputs) graph.set(k, v);
      const subject = subjects[random(8)] ?? pod("z");
      const fresh = new Graph<Pod>();
      for (const [k, v] of inputs) fresh.set(k, v);
      assert.equal(graph.evaluate(all, "", subject), fresh.evaluate(all, "", subject), `step ${step}`);
    }
  });

  it("reports what is watched above an input, also when something else is made of it, or watched", () => {
    const graph = new Graph<Pod>();
    const { query } = counted();
    const chosen = query("chosen", (c, key) => c.input<number>(c.input<string>(key) ?? ""));
    graph.set("choice", "a");
    graph.set("a", 1);
    graph.set("b", 1);
    const watched = () => graph.watchedFrom("b");
    assert.deepEqual(watched(), new Set());
    const first = graph.observe(chosen, "choice", pod("x"), () => {});
    assert.deepEqual(graph.watchedFrom("a"), new Set([first.identity]));
    const before = watched();
    assert.deepEqual(before, new Set());
    graph.set("a", 2);
    first.again();
    graph.observe(chosen, "choice", pod("y"), () => {}).release();
    assert.equal(watched(), before, "the same is made of the same, and watched");
    graph.set("choice", "b");
    first.again();
    assert.deepEqual(watched(), new Set([first.identity]));
    const second = graph.observe(chosen, "b", pod("x"), () => {});
    assert.deepEqual(watched(), new Set([first.identity, second.identity]));
    second.release();
    assert.deepEqual(watched(), new Set([first.identity]));
    first.release();
    assert.deepEqual(watched(), new Set());
  });

  it("finds the same results above an input as inputs below the results, after any sequence of changes", () => {
    const graph = new Graph<Pod>();
    const { query } = counted();
    const chosen = query("chosen", (c, key) => c.input<string>(key) ?? "a");
    const value = query("value", (c, key) => c.input<number>(c.read(chosen, key)));
    const list = query("list", (c, keys) => [...keys].map((key) => c.read(value, key)).join());
    const random = seededRandom(7);
    const observed = new Map<string, ReturnType<typeof graph.observe>>();
    for (let step = 0; step < 1000; step++) {
      const keys = ["0", "01", "12", "012"][random(4)] ?? "";
      if (random(2) === 0) graph.set(["0", "1", "2"][random(3)] ?? "", ["a", "b", "c"][random(3)]);
      else if (observed.has(keys)) {
        observed.get(keys)?.release();
        observed.delete(keys);
      } else
        observed.set(
          keys,
          graph.observe(list, keys, pod("x"), () => {}),
        );
      for (const observation of observed.values()) observation.again();
      for (const input of ["0", "1", "2", "a", "b", "c"]) {
        const isMadeOf = ([arg]: readonly [string, unknown]) => graph.inputsOf(list, arg, pod("x")).includes(input);
        const expected = new Set([...observed].filter(isMadeOf).map(([, { identity }]) => identity));
        assert.deepEqual(graph.watchedFrom(input), expected, `step ${step}, input ${input}`);
      }
    }
  });

  it("drops what is unused although a computation has failed", () => {
    const graph = new Graph<Pod>();
    const { query } = counted();
    const good = query("good", (c, key) => c.input<number>(key));
    const bad = query("bad", (c, key) => {
      c.read(good, key);
      throw new Error("cannot be computed");
    });
    graph.set("a", 1);
    const kept = graph.observe(good, "a", pod("x"), () => {});
    assert.throws(() => graph.evaluate(bad, "a", pod("x")), /cannot be computed/);
    kept.release();
    assert.equal(graph.stats().results, 0);
    assert.equal(graph.evaluate(good, "a", pod("x")), 1);
  });

  it("keeps an error as a result: a reader that goes on without it is computed again when it may have changed", () => {
    const graph = new Graph<Pod>();
    const { query } = counted();
    const inner = query("inner", (c, key) => {
      if (c.input<number>(key) === 0) throw new Error(`${key} is nought`);
      return c.input<number>(key);
    });
    const outer = query("outer", (c, key) => c.read(inner, key));
    const list = query("list", (c) =>
      ["a", "b"].map((key) => {
        const result = c.attempt(outer, key);
        return result instanceof Failure ? String(result.error) : result;
      }),
    );
    graph.set("a", 0);
    graph.set("b", 1);
    let stale = 0;
    const observed = graph.observe(list, "", pod("x"), () => stale++);
    assert.deepEqual(observed.value, ["Error: a is nought", 1]);
    graph.set("a", 5);
    assert.equal(stale, 1);
    assert.ok(observed.again());
    assert.deepEqual(observed.value, [5, 1]);
    graph.set("b", 0);
    assert.equal(stale, 2);
    assert.ok(observed.again());
    assert.deepEqual(observed.value, [5, "Error: b is nought"]);
    assert.deepEqual(graph.inputsOf(outer, "b", pod("x")), ["b"]);
    observed.release();
    assert.equal(graph.stats().results, 0);
  });

  it("notifies the observer of an error when it may have changed", () => {
    const graph = new Graph<Pod>();
    const { query } = counted();
    const positive = query("positive", (c, key) => {
      if ((c.input<number>(key) ?? 0) < 1) throw new Error("too small");
      return c.input<number>(key);
    });
    graph.set("a", 1);
    let stale = 0;
    const observed = graph.observe(positive, "a", pod("x"), () => stale++);
    graph.set("a", -1);
    assert.ok(observed.again());
    assert.throws(() => observed.value, /too small/);
    assert.throws(() => graph.observe(positive, "a", pod("x"), () => {}), /too small/);
    graph.set("a", 2);
    assert.ok(observed.again());
    assert.deepEqual([observed.value, stale], [2, 2]);
  });

  it("keeps no result of a query that reads itself, or that had no stack left", () => {
    const graph = new Graph<Pod>();
    const { query } = counted();
    let depth = 0;
    const loop: Query<Pod, string, unknown> = {
      name: "loop",
      compute: (c, key) => (c.input(key) === "go" ? c.attempt(loop, key) : 1),
    };
    const deep = query("deep", () => {
      if (depth === 0) throw new RangeError("Maximum call stack size exceeded");
      return depth;
    });
    graph.set("a", "go");
    assert.throws(() => graph.evaluate(loop, "a", pod("x")), /INCREMENTAL_CYCLE/);
    graph.set("a", "stop");
    assert.equal(graph.evaluate(loop, "a", pod("x")), 1);
    assert.throws(() => graph.evaluate(deep, "", pod("x")), /stack/);
    depth = 2;
    assert.equal(graph.evaluate(deep, "", pod("x")), 2);
  });
});
