/** A comparison with an istiod, as people and as tools read it. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ProxyDifferences, ResourceDifference } from "./differences.ts";
import { describeComparison, sarifOf } from "./report.ts";

const difference = (more: Partial<ResourceDifference>): ResourceDifference => ({
  ...{ type: "rds", name: "80", outcome: "different", object: "VirtualService/v.shop", fields: [] },
  ...more,
});
const proxy = (name: string, ...differences: readonly ResourceDifference[]): ProxyDifferences => ({
  ...{ proxy: name, resources: 4, identical: 4 - differences.length, differences },
});
const field = (path: string) => ({ path, istiod: 1, flotilla: 2 });
const lines = (...proxies: readonly ProxyDifferences[]) => describeComparison({ proxies, notCompared: {} }).split("\n");

describe("the text of a comparison", () => {
  it("counts proxies and resources", () => {
    assert.deepEqual(lines(proxy("a.shop"), proxy("b.shop", difference({}))), [
      "PROXY    IDENTICAL   DIFFERENT",
      "a.shop   4/4         0",
      "b.shop   3/4         1",
      "",
      "b.shop rds 80 differs: VirtualService/v.shop",
      "",
      "1 of 2 proxies identical, 7 of 8 resources",
    ]);
  });

  const sentences: readonly (readonly [Partial<ResourceDifference>, string])[] = [
    [{ outcome: "only istiod" }, "a rds 80 is sent by istiod alone: VirtualService/v.shop"],
    [{ outcome: "only flotilla", object: undefined }, "a rds 80 is sent by flotilla alone"],
    [{ type: "nds", name: "", object: undefined }, "a nds (the table) differs"],
    [
      { outcome: "only istiod", type: "wds", name: "c//Pod/amb/api-1", object: "Pod/api-1.amb" },
      "a wds c//Pod/amb/api-1 is sent by istiod alone: Pod/api-1.amb",
    ],
  ];
  for (const [more, want] of sentences) it(want, () => assert.equal(lines(proxy("a", difference(more)))[3], want));

  it("shows the values of both sides, and says where one has none", () => {
    const fields = [
      { path: "timeout", istiod: "1s" },
      { path: "retries", flotilla: { a: [1] } },
    ];
    assert.deepEqual(lines(proxy("a", difference({ fields }))).slice(4, 10), [
      "  timeout",
      '    istiod   "1s"',
      "    flotilla (absent)",
      "  retries",
      "    istiod   (absent)",
      '    flotilla {"a":[1]}',
    ]);
  });

  it("shows five fields of a resource, and cuts long values", () => {
    const six = ["a", "b", "c", "d", "e", "f"].map(field);
    const text = lines(proxy("a", difference({ fields: six })));
    assert.equal(text.filter((line) => /^ {2}\w$/.test(line)).length, 5);
    assert.ok(text.includes("  1 more fields, see -o json"));
    assert.ok(
      !lines(proxy("a", difference({ fields: six.slice(1) })))
        .join()
        .includes("more fields"),
    );
    const long = { path: "x", istiod: "y".repeat(200), flotilla: "y".repeat(118) };
    const values = lines(proxy("a", difference({ fields: [long] })));
    assert.match(values[5] ?? "", /^ {4}istiod {3}"y{119}…$/);
    assert.match(values[6] ?? "", /^ {4}flotilla "y{118}"$/);
  });

  it("names the types of proxies that were not compared", () => {
    const text = describeComparison({ proxies: [], notCompared: { agentgateway: 2, other: 1 } });
    assert.equal(text.split("\n").at(-1), "not compared: 2 of type agentgateway, 1 of type other");
  });
});

describe("SARIF", () => {
  it("has a result for each resource that differs, with a rule that it declares", () => {
    const proxies = [
      proxy("a", difference({ fields: [field("x")] }), difference({ outcome: "only istiod", object: undefined })),
      proxy("b", difference({ outcome: "only flotilla", type: "cds", name: "c" })),
    ];
    const { runs } = sarifOf({ proxies, notCompared: {} }) as {
      readonly runs: readonly {
        readonly tool: { readonly driver: { readonly rules: readonly { readonly id: string }[] } };
        readonly results: readonly {
          readonly ruleId: string;
          readonly message: { readonly text: string };
          readonly locations: readonly {
            readonly logicalLocations: readonly { readonly fullyQualifiedName: string }[];
          }[];
          readonly properties: object;
        }[];
      }[];
    };
    const { results = [], tool } = runs[0] ?? {};
    const declared = tool?.driver.rules.map(({ id }) => id) ?? [];
    assert.deepEqual(
      results.map(({ ruleId }) => ruleId),
      ["resource-differs", "resource-missing", "resource-extra"],
    );
    assert.deepEqual(new Set(results.map(({ ruleId }) => ruleId)), new Set(declared));
    assert.deepEqual(
      results.map(({ locations }) => locations[0]?.logicalLocations[0]?.fullyQualifiedName),
      ["a/rds/80", "a/rds/80", "b/cds/c"],
    );
    assert.equal(
      results[0]?.message.text,
      "rds 80 differs: VirtualService/v.shop\n  x\n    istiod   1\n    flotilla 2",
    );
    assert.deepEqual(
      results.map(({ properties }) => properties),
      [
        { proxy: "a", object: "VirtualService/v.shop" },
        { proxy: "a", object: null },
        { proxy: "b", object: "VirtualService/v.shop" },
      ],
    );
  });
});
