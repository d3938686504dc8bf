/** The order of groups of several sources, and when a source is asked for its next one. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type GroupSource, mergeGroups } from "./merge-groups.ts";
import { until, Wakeup } from "./wait.ts";

/** A source whose changes gather until they are asked for. */
class Gathering implements GroupSource<readonly number[]> {
  readonly name: string;
  #changes: number[] = [];
  readonly #wakeup = new Wakeup();

  constructor(name: string) {
    this.name = name;
  }

  add(change: number): void {
    this.#changes.push(change);
    this.#wakeup.wake();
  }

  async *groups(stop: AbortSignal): AsyncGenerator<readonly number[]> {
    while (!stop.aborted) {
      if (this.#changes.length > 0) yield this.#changes.splice(0);
      else await this.#wakeup.wait(stop, Number.POSITIVE_INFINITY);
    }
  }
}

test("changes that come while the reader is busy arrive as one group, those of another source as another", async () => {
  const [pods, rules] = [new Gathering("pods"), new Gathering("rules")];
  const stop = new AbortController();
  const groups = mergeGroups([pods, rules], stop.signal);
  pods.add(1);
  assert.deepEqual(await groups.next(), { done: false, value: { source: "pods", group: [1], complete: false } });
  for (const change of [2, 3, 4]) {
    pods.add(change);
    // The source runs on between them, as it does while a reader waits for an answer.
    await new Promise(setImmediate);
  }
  rules.add(5);
  const next = [(await groups.next()).value, (await groups.next()).value].map((one) => `${one?.source} ${one?.group}`);
  assert.deepEqual(next.sort(), ["pods 2,3,4", "rules 5"]);
  await groups.return();
});

test("the end reaches sources whose group was not taken", async () => {
  let ended = 0;
  const endless = (name: string): GroupSource<string> => ({
    name,
    async *groups() {
      try {
        for (;;) yield name;
      } finally {
        ended++;
      }
    },
  });
  const groups = mergeGroups([endless("a"), endless("b")], new AbortController().signal);
  await groups.next();
  await groups.return();
  await until(() => ended === 2, { withinMs: 5_000, what: "both sources to end" });
});

test("a failure reaches the reader after the groups before it", async () => {
  const failing: GroupSource<string> = {
    name: "failing",
    async *groups() {
      yield "first";
      throw new Error("gone");
    },
  };
  const groups = mergeGroups([failing], new AbortController().signal);
  assert.equal((await groups.next()).value?.group, "first");
  await assert.rejects(groups.next(), /gone/);
});
