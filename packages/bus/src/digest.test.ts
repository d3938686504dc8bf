import assert from "node:assert/strict";
import { test } from "node:test";
import { differingTopics, digestsOf, RunningDigests } from "./topics.ts";

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

test("a topic of which nothing is left is published as empty", () => {
  const running = new RunningDigests();
  running.note(state("a", "1"), 1);
  running.note(state("a", "1"), -1);
  assert.deepEqual(running.read(), digestsOf([], ["config.Sidecar"]));
});

test("digests differ by content, by name and by count", () => {
  const one = digestsOf([state("a", "1")]);
  for (const other of [[state("a", "2")], [state("b", "1")], [state("a", "1"), state("a", "1")], []])
    assert.notDeepEqual(digestsOf(other, ["config.Sidecar"]), one);
  assert.deepEqual(digestsOf([state("b", "2"), state("a", "1")]), digestsOf([state("a", "1"), state("b", "2")]));
});

test("topics differ by count or by sum, and one that is not held counts as empty", () => {
  const [service, sidecar, empty] = [
    { count: 1, sum: 7 },
    { count: 2, sum: 7 },
    { count: 0, sum: 0 },
  ];
  const cases = [
    [{ service }, { service }, []],
    [{ service }, { service: sidecar }, ["service"]],
    [{ service }, { service: { ...service, sum: 8 } }, ["service"]],
    [{ service, endpoints: empty }, {}, ["service"]],
    [{ service, "config.Sidecar": sidecar }, { service }, ["config.Sidecar"]],
    [{}, { service }, []],
  ] as const;
  for (const [published, held, expected] of cases) assert.deepEqual(differingTopics(published, held), expected);
});
