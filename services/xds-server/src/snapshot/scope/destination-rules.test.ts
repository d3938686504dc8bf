import assert from "node:assert/strict";
import { test } from "node:test";
import { Graph } from "@flotilla/incremental";
import type { Config } from "@flotilla/model";
import type { JsonObject } from "@flotilla/proto";
import type { DestinationRule } from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import { aConfig, aSidecar, put } from "../../testing/mesh.ts";
import { decodeSpec } from "../config-specs.ts";
import { rowIndexes } from "../indexes/index.ts";
import type { Subject } from "../subject.ts";
import { query } from "../view.ts";
import { World } from "../world.ts";
import { destinationRuleOf } from "./destination-rules.ts";

const service = { hostname: "a.shop.svc.cluster.local", namespace: "shop" };
const found = query<Config<DestinationRule> | undefined>("found", (view) => destinationRuleOf(view, service));

/** `namespace/name: subsets` of the rule that a proxy of `namespace` follows. */
function ruleSeenBy(namespace: string, rules: readonly Config[]): string {
  const graph = new Graph<Subject>();
  const world = new World(graph, { indexes: rowIndexes, decode: decodeSpec });
  assert.deepEqual(world.apply(put(...rules)), []);
  const rule = graph.evaluate(found, undefined, { proxy: aSidecar(namespace), targets: [] });
  if (rule === undefined) return "none";
  return `${rule.key.namespace}/${rule.key.name}: ${rule.spec.subsets.map(({ name }) => name).join()}`;
}

const rule = (namespace: string, name: string, host: string, subset: string, more: JsonObject = {}) =>
  aConfig("DestinationRule", namespace, name, { host, subsets: [{ name: subset }], ...more });

const cases: readonly { name: string; from: string; rules: readonly Config[]; want: string }[] = [
  {
    name: "a short host is one of the rule's namespace",
    from: "jobs",
    rules: [rule("shop", "r", "a", "s")],
    want: "shop/r: s",
  },
  {
    name: "a short host of another namespace is another host",
    from: "jobs",
    rules: [rule("jobs", "r", "a", "s")],
    want: "none",
  },
  {
    name: "the caller's own rule counts most",
    from: "jobs",
    rules: [rule("shop", "r", "a", "s"), rule("jobs", "mine", service.hostname, "m")],
    want: "jobs/mine: m",
  },
  {
    name: "a private rule is not seen from elsewhere",
    from: "jobs",
    rules: [rule("shop", "r", "a", "s", { exportTo: ["."] })],
    want: "none",
  },
  {
    name: "a rule is exported to the namespaces it names",
    from: "jobs",
    rules: [rule("shop", "r", "a", "s", { exportTo: ["jobs"] })],
    want: "shop/r: s",
  },
  {
    name: "the root namespace's rule is the last resort",
    from: "jobs",
    rules: [rule("istio-system", "all", "*.cluster.local", "w"), rule("other", "no", service.hostname, "n")],
    want: "istio-system/all: w",
  },
  {
    name: "an exact host counts more than a wildcard, a longer wildcard more than a shorter one",
    from: "shop",
    rules: [rule("shop", "wide", "*.local", "w"), rule("shop", "narrow", "*.svc.cluster.local", "n")],
    want: "shop/narrow: n",
  },
  {
    name: "rules for one host are merged, the older first",
    from: "shop",
    rules: [rule("shop", "newer@2", service.hostname, "two"), rule("shop", "older@1", "a", "one")],
    want: "shop/older: one,two",
  },
  {
    name: "rules that are exported differently are not merged",
    from: "jobs",
    rules: [rule("shop", "older@1", "a", "one", { exportTo: ["."] }), rule("shop", "newer@2", "a", "two")],
    want: "shop/newer: two",
  },
  {
    name: "a rule that selects the workload counts more",
    from: "shop",
    rules: [
      rule("shop", "r", "a", "all"),
      rule("shop", "selected", "a", "some", { workloadSelector: { matchLabels: { app: "web" } } }),
    ],
    want: "shop/selected: some",
  },
  {
    name: "a rule that selects others does not hold",
    from: "shop",
    rules: [
      rule("shop", "r", "a", "all"),
      rule("shop", "selected", "a", "some", { workloadSelector: { matchLabels: { app: "other" } } }),
    ],
    want: "shop/r: all",
  },
];

for (const { name, from, rules, want } of cases) {
  test(name, () => assert.equal(ruleSeenBy(from, rules), want));
}
