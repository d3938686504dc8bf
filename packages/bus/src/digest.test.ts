import assert from "node:assert/strict";
import { test } from "node:test";
import { digestsOf, RunningDigests } from "./digest.ts";

const state = (name: string, fingerprint: string) => ({
  subject: `flotilla.v1.config.Sidecar.shop.${name}`,
  fingerprint,
});

test("running digests are those of what is there, whatever came and went", () => {
  const running = new RunningDigests();
  for (const name of ["a", "b", "c"]) running.note(state(name, "1"), 1);
  running.note(state("b", "1"), -1);
  running.note(state("b", "2"), 1);
  running.note(state("c", "1"), -1);
  assert.deepEqual(running.read(), digestsOf([state("b", "2"), state("a", "1")]));
});

test("a topic of which nothing is left is told as empty", () => {
  const running = new RunningDigests();
  running.note(state("a", "1"), 1);
  running.note(state("a", "1"), -1);
  assert.deepEqual(running.read(), digestsOf([], ["config.Sidecar"]));
});
