import assert from "node:assert/strict";
import { test } from "node:test";
import type { Config } from "@flotilla/model";
import type { JsonObject } from "@flotilla/proto";
import { Core } from "../../app/core.ts";
import { aConfig, apply, aSidecar } from "../../testing/mesh.ts";
import { query } from "../view.ts";
import { destinationRuleOf } from "./destination-rules.ts";

const service = { hostname: "a.shop.svc.cluster.local", namespace: "shop" };
const subsets = query<string>(
  "subsets",
  (view) =>
    destinationRuleOf(view, service)
      ?.spec.subsets.map(({ name }) => name)
      .join() ?? "none",
);

/** Rules of `shop` for `a`, of which each has a subset of its name. */
const rule = (name: string, more: JsonObject = {}) =>
  aConfig("DestinationRule", "shop", name, { host: "a", subsets: [{ name: name.slice(0, 1) }], ...more });
const exported = (name: string, ...exportTo: string[]) => rule(name, { exportTo });
const selecting = (name: string, app: string) => rule(name, { workloadSelector: { matchLabels: { app } } });

/** The subsets that proxies see: `web` and `api` of shop, and those of jobs and edge. */
function seen(rules: readonly Config[], enhancedDestinationRuleMerge = true): Readonly<Record<string, string>> {
  const core = new Core({ features: { enhancedDestinationRuleMerge } });
  apply(core, ...rules);
  const proxies = {
    web: aSidecar("shop"),
    api: aSidecar("shop", { LABELS: { app: "api" } }),
    jobs: aSidecar("jobs"),
    edge: aSidecar("edge"),
  };
  return Object.fromEntries(
    Object.entries(proxies).map(([name, proxy]) => [name, core.read(subsets, core.subjectOf(proxy)) ?? ""]),
  );
}

const cases: readonly {
  readonly name: string;
  readonly rules: readonly Config[];
  readonly want: Readonly<Record<string, string>>;
  readonly legacy?: Readonly<Record<string, string>>;
}[] = [
  {
    name: "a rule that is exported further is merged into the one before it, and holds alone for the others",
    rules: [exported("a@1", "jobs"), exported("b@2", "jobs", "edge")],
    want: { web: "none", api: "none", jobs: "a,b", edge: "b" },
    legacy: { web: "none", api: "none", jobs: "a,b", edge: "none" },
  },
  {
    name: "a rule that is exported to fewer replaces the one before it there",
    rules: [exported("a@1", "jobs", "edge"), exported("b@2", "jobs")],
    want: { web: "none", api: "none", jobs: "b", edge: "a" },
    legacy: { web: "none", api: "none", jobs: "a,b", edge: "a,b" },
  },
  {
    name: "a rule stands alone, too, where the last one before it is exported elsewhere",
    rules: [rule("a@1"), exported("b@2", "*"), rule("c@3"), exported("d@4", "jobs"), exported("e@5", "*")],
    want: { web: "e", api: "e", jobs: "e", edge: "e" },
    legacy: { web: "a,b,c,e", api: "a,b,c,e", jobs: "a,b,c,d,e", edge: "a,b,c,d,e" },
  },
  {
    name: "a rule that selects workloads takes over a private one without a selector, which stays for the others",
    rules: [exported("a@1", "."), selecting("b@2", "web")],
    want: { web: "b,a", api: "a", jobs: "none", edge: "none" },
    legacy: { web: "b,a", api: "a", jobs: "none", edge: "none" },
  },
  {
    name: "rules that select the same workloads are merged, others are not",
    rules: [selecting("a@1", "web"), selecting("b@2", "web"), selecting("c@3", "api"), rule("d@4")],
    want: { web: "a,b", api: "c", jobs: "d", edge: "d" },
    legacy: { web: "a,b,d", api: "c,d", jobs: "d", edge: "d" },
  },
];

for (const { name, rules, want, legacy } of cases)
  test(name, () => {
    assert.deepEqual(seen(rules), want);
    assert.deepEqual(seen(rules, false), legacy);
  });
