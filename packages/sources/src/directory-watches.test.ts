/** Watches of directories: events by directory and name, and doubt after each new watch. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { until } from "@flotilla/runtime";
import { DirectoryWatches } from "./file-watcher.ts";

test("the directories that are set are watched, and no others", async () => {
  const [a, b] = [await mkdtemp(join(tmpdir(), "watch-")), await mkdtemp(join(tmpdir(), "watch-"))];
  const [events, failures]: [Set<string>, string[]] = [new Set(), []];
  let doubts = 0;
  using watches = new DirectoryWatches({
    onEvent: (directory, name) => void events.add(`${directory === a ? "a" : "b"}/${name}`),
    onDoubt: () => void doubts++,
    onFailure: (directory) => void failures.push(directory),
  });
  const seen = (event: string) => until(() => events.has(event), { withinMs: 20_000, what: event, everyMs: 2 });
  watches.set(new Set([a]));
  assert.equal(doubts, 1, "a change may have come before the watch");
  await writeFile(join(a, "one.yaml"), "");
  await seen("a/one.yaml");
  watches.set(new Set([a, b]));
  watches.set(new Set([a, b]));
  assert.equal(doubts, 2);
  await writeFile(join(b, "two.yaml"), "");
  await seen("b/two.yaml");
  watches.set(new Set([b]));
  await writeFile(join(a, "late.yaml"), "");
  await writeFile(join(b, "later.yaml"), "");
  await seen("b/later.yaml");
  assert.deepEqual([events.has("a/late.yaml"), doubts], [false, 2]);
  watches.set(new Set([b, join(a, "none")]));
  assert.deepEqual([failures, doubts], [[], 3], "a directory that is gone is no failure");
  await rm(a, { recursive: true });
  await rm(b, { recursive: true });
});
