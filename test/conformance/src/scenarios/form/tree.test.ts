import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import type { JsonObject } from "@flotilla/proto";
import type { Expected, Scenario } from "../scenario.ts";
import { applyBlocks, blocksBetween } from "./expectations.ts";
import { openTree, writeExpectations } from "./tree.ts";

const clusterType = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
const breakers = (maxRetries: number): JsonObject => ({
  thresholds: ["DEFAULT", "HIGH"].map((priority) => ({
    priority,
    maxConnections: 4294967295,
    maxRetries,
    trackRemaining: true,
  })),
});
const cluster = (name: string, maxRetries = 1): JsonObject => ({
  "@type": clusterType,
  name,
  circuitBreakers: breakers(maxRetries),
});
const capture = (...resources: readonly JsonObject[]) =>
  new Map([["cds", new Map(resources.map((resource) => [String(resource["name"]), resource]))]]);

/** Six scenarios of one proxy, each with a cluster of its own. */
function scenarios(maxRetries: number): readonly Scenario[] {
  return [..."abcdef"].map((name) => ({
    group: "g",
    name,
    title: "",
    description: "",
    features: [],
    proxies: [{ name: "web", type: "sidecar", id: "", cluster: "", metadata: {} }],
    env: {},
    mesh: {},
    networks: {},
    stages: [{ title: "", step: {}, expected: new Map([["web", capture(cluster(name, maxRetries))]]) }],
  }));
}

describe("blocks of expectations", () => {
  const cases: readonly {
    readonly name: string;
    readonly before: Expected;
    readonly after: Expected;
    readonly blocks: object;
  }[] = [
    {
      name: "name every receiver of an equal resource once",
      before: new Map(),
      after: new Map([
        ["web", capture(cluster("a"), cluster("b"))],
        ["api", capture(cluster("a"))],
      ]),
      blocks: { cds: { "web, api": ["a"], web: ["b"] } },
    },
    {
      name: "hold changes, additions and removals of a step alone",
      before: new Map([["web", capture(cluster("a"), cluster("b"), cluster("c"))]]),
      after: new Map([["web", capture(cluster("a"), cluster("b", 2), cluster("d"))]]),
      blocks: { cds: { web: ["b", "c: null", "d"] } },
    },
    {
      name: "distinguish an empty answer from none",
      before: new Map([["web", new Map([["rds", new Map()]])]]),
      after: new Map([["web", capture()]]),
      blocks: { cds: { web: [] }, rds: { web: "null" } },
    },
  ];
  for (const { name, before, after, blocks } of cases) {
    it(name, () => {
      const found = blocksBetween(before, after, ["web", "api"]);
      const shown = [...found].map(([type, byReceivers]) => {
        const names = [...byReceivers].map(([to, block]) => [
          to,
          block === null
            ? "null"
            : Object.entries(block).map(([resource, value]) => (value === null ? `${resource}: null` : resource)),
        ]);
        return [type, Object.fromEntries(names)];
      });
      assert.deepEqual(Object.fromEntries(shown), blocks);
      const applied = new Map([...applyBlocks(before, found)].filter(([, { size }]) => size > 0));
      assert.deepEqual(applied, after);
    });
  }
});

describe("a tree of expectations", () => {
  const root = mkdtempSync(join(tmpdir(), "tree-"));
  after(() => rmSync(root, { recursive: true }));
  const read = (name: string) => readFileSync(join(root, name), "utf8");

  it("holds what several scenarios repeat once and reads as it was written", () => {
    writeExpectations(root, scenarios(1));
    assert.match(
      read("g/a/expected.yaml"),
      /^cds to web:\n {2}a: \{name: a, circuitBreakers: !shared circuitBreakers\}\n$/,
    );
    assert.equal(read("shared/parts.yaml").match(/maxRetries: 1/g)?.length, 2);
    const expected = openTree(root).readStage(join(root, "g/a"), new Map());
    assert.deepEqual(expected, scenarios(1)[0]?.stages[0]?.expected);
  });

  it("changes one block when a shared part changes everywhere", () => {
    const before = read("g/a/expected.yaml");
    writeExpectations(root, scenarios(2));
    assert.equal(read("g/a/expected.yaml"), before);
    assert.equal(read("shared/parts.yaml").match(/maxRetries: 2/g)?.length, 2);
  });

  it("gives a part a second name where only some of its uses change", () => {
    writeExpectations(root, [...scenarios(2).slice(0, 2), ...scenarios(3).slice(2)]);
    assert.match(read("g/a/expected.yaml"), /!shared circuitBreakers\}/);
    assert.match(read("g/c/expected.yaml"), /!shared circuitBreakers~2\}/);
  });

  it("leaves what did not change as it is written", () => {
    const before = read("g/a/expected.yaml");
    // Now too few use the part for a new one.
    writeExpectations(root, [...scenarios(2).slice(0, 1), ...scenarios(3).slice(1)]);
    assert.equal(read("g/a/expected.yaml"), before);
    const expected = openTree(root).readStage(join(root, "g/b"), new Map());
    assert.deepEqual(expected, scenarios(3)[1]?.stages[0]?.expected);
  });
});
