import assert from "node:assert/strict";
import { test } from "node:test";
import { compareText, type Locality, parseLocality, totalWeight } from "@flotilla/model";
import { distribute, failover, failoverByLabels, type Group, type Member } from "./locality-priority.ts";

const member = (locality: string, weight = 1, labels: Record<string, string> = {}): Member => ({
  locality,
  weight,
  labels,
});
function groupByLocality(members: readonly Member[]): Group<Member>[] {
  return [...Map.groupBy(members, ({ locality }) => locality)]
    .sort(([a], [b]) => compareText(a, b))
    .map(([locality, found]) => ({ locality, members: found, weight: totalWeight(found), priority: 0 }));
}

const own = (text: string): Locality => parseLocality(text);
const places = groupByLocality(["eu/eu-1/r1", "eu/eu-1/r2", "eu/eu-2", "us/us-1", "ap/ap-1"].map((l) => member(l)));

const failovers = [
  { name: "by distance, without gaps", from: "eu/eu-1/r1", rules: [], want: [3, 0, 1, 2, 3] },
  { name: "another zone of the own region", from: "eu/eu-2", rules: [], want: [2, 1, 1, 0, 2] },
  { name: "the named region before others", from: "eu/eu-1/r1", rules: [["eu", "us"]], want: [4, 0, 1, 2, 3] },
  { name: "rules of other regions do not count", from: "us/us-1", rules: [["eu", "us"]], want: [1, 1, 1, 1, 0] },
  { name: "nothing is near", from: "sa/sa-1", rules: [], want: [0, 0, 0, 0, 0] },
] as const;

for (const { name, from, rules, want } of failovers) {
  test(`failover: ${name}`, () => {
    const typed = rules.map(([source, to]) => ({ from: source, to })) as unknown as Parameters<typeof failover>[1];
    const found = failover(places, typed, own(from));
    assert.deepEqual(
      found.map(({ priority }) => priority),
      want,
    );
  });
}

test("failover without zones: the own region, the named one, everything else", () => {
  const rules = [{ from: "eu", to: "ap" }] as unknown as Parameters<typeof failover>[1];
  const priorities = (...args: readonly [typeof rules, string]) =>
    failover(places, args[0], own(args[1]), true).map(({ priority }) => priority);
  assert.deepEqual(priorities(rules, "eu/eu-1/r1"), [1, 0, 0, 0, 2]);
  assert.deepEqual(priorities([], "eu/eu-1/r1"), [1, 0, 0, 0, 1]);
});

test("failoverPriority: as many labels from the first on as agree", () => {
  const groups = groupByLocality([
    member("eu/eu-1", 1, { version: "v1" }),
    member("eu/eu-1", 1, { version: "v2" }),
    member("us/us-1", 1, { version: "v1" }),
  ]);
  const labels: Record<string, string> = { "topology.kubernetes.io/region": "eu", version: "v1" };
  const found = failoverByLabels(groups, ["topology.kubernetes.io/region", "version"], (name) => labels[name]);
  assert.deepEqual(
    found.map(({ locality, priority, members }) => [locality, priority, members.map((one) => one.labels["version"])]),
    [
      ["eu/eu-1", 0, ["v1"]],
      ["eu/eu-1", 1, ["v2"]],
      ["us/us-1", 2, ["v1"]],
    ],
  );
});

const shares = [
  {
    name: "by weight within a share, rounded up; the others get nothing",
    from: "eu/*",
    to: { "us/us-1": 10, "eu/*": 90 },
    want: [
      ["", 1, 0],
      ["eu/eu-1/r1", 68, 1],
      ["eu/eu-1/r2", 23, 1],
      ["us/us-1", 10, 1],
    ],
  },
  { name: "not from here", from: "us/*", to: { "us/us-1": 100 }, want: undefined },
] as const;

for (const { name, from, to, want } of shares) {
  test(`distribute: ${name}`, () => {
    const groups = groupByLocality([member("eu/eu-1/r1", 3), member("eu/eu-1/r2"), member("us/us-1", 9), member("")]);
    const rules = [{ from, to }] as unknown as Parameters<typeof distribute>[1];
    const found = distribute(groups, rules, own("eu/eu-1/r1"));
    assert.deepEqual(
      found?.map(({ locality, weight, members }) => [locality, weight, members.length]),
      want,
    );
  });
}

test("distribute: a locality without an endpoint that can be called keeps its share", () => {
  const empty: Group<Member> = { locality: "us/us-1", members: [], weight: 0, priority: 0 };
  const rules = [{ from: "*", to: { "us/*": 20, "eu/*": 80 } }] as unknown as Parameters<typeof distribute>[1];
  const found = distribute([...groupByLocality([member("eu/eu-1")]), empty], rules, own("eu/eu-1"));
  assert.deepEqual(
    found?.map(({ weight }) => weight),
    [80, 20],
  );
});
