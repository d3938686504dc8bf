import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@flotilla/proto";
import { differencesOf } from "./differences.ts";
import type { MadeFrom } from "./objects.ts";
import type { Capture } from "./own-side.ts";
import { describeComparison, sarifOf } from "./report.ts";

const config = (name: string) => ({
  metadata: {
    filterMetadata: { istio: { config: `/apis/networking.istio.io/v1/namespaces/shop/virtual-service/${name}` } },
  },
});
const routes = (timeout: string): JsonObject => ({
  name: "80",
  virtualHosts: [
    { name: "ratings", routes: [{ ...config("ratings"), route: { timeout: "0s" } }] },
    { name: "reviews", routes: [{ ...config("reviews"), route: { timeout } }] },
  ],
});
const policies = (action: string): JsonObject => ({
  name: "virtualInbound",
  rules: { policies: { "ns[shop]-policy[allow-get]-rule[0]": { action } } },
});
const capture = (type: string, ...resources: readonly JsonObject[]): Capture =>
  new Map([[type, new Map(resources.map((resource) => [String(resource["name"]), resource]))]]);
const addresses = (resources: Readonly<Record<string, JsonObject>>): Capture =>
  new Map([["wds", new Map(Object.entries(resources))]]);
const cluster = { name: "outbound|80||api.pay.svc.cluster.local" };

describe("differences between two control planes", () => {
  const cases: readonly {
    readonly name: string;
    readonly madeFrom?: MadeFrom;
    readonly istiod: Capture;
    readonly flotilla: Capture;
    readonly found: readonly string[];
  }[] = [
    {
      name: "none where resources are equal",
      istiod: capture("rds", routes("1s")),
      flotilla: capture("rds", routes("1s")),
      found: [],
    },
    {
      name: "name the object around the field that differs",
      istiod: capture("rds", routes("1s")),
      flotilla: capture("rds", routes("2s")),
      found: ["rds 80 different VirtualService/reviews.shop virtualHosts[1].routes[0].route.timeout"],
    },
    {
      name: "name the policy of a rule",
      istiod: capture("lds", policies("ALLOW")),
      flotilla: capture("lds", policies("DENY")),
      found: [
        'lds virtualInbound different AuthorizationPolicy/allow-get.shop rules.policies["ns[shop]-policy[allow-get]-rule[0]"].action',
      ],
    },
    {
      name: "name the host of a cluster that one side has alone",
      istiod: capture("cds", cluster),
      flotilla: capture("cds"),
      found: ["cds outbound|80||api.pay.svc.cluster.local only istiod host api.pay.svc.cluster.local"],
    },
    {
      name: "name the first object within a resource that one side has alone",
      istiod: capture("rds", {
        name: "80",
        virtualHosts: [{ name: "plain" }, ...(routes("1s")["virtualHosts"] as [])],
      }),
      flotilla: capture("rds"),
      found: ["rds 80 only istiod VirtualService/ratings.shop"],
    },
    {
      name: "name no object where nothing within a resource does",
      istiod: capture("rds", {
        name: "80",
        virtualHosts: [{ name: "plain" }],
        metadata: { filterMetadata: { istio: {} } },
      }),
      flotilla: capture("rds"),
      found: ["rds 80 only istiod "],
    },
    {
      name: "count what only Flotilla sends",
      istiod: capture("cds"),
      flotilla: capture("cds", cluster),
      found: ["cds outbound|80||api.pay.svc.cluster.local only flotilla host api.pay.svc.cluster.local"],
    },
    {
      name: "name the pod of a workload, and the object that a service was made from",
      madeFrom: (type, name) =>
        type === "wds" && name === "amb/x.example" ? ["MeshConfig", "ServiceEntry/amb/x"] : [],
      istiod: addresses({ "Kubernetes//Pod/amb/api-1": { workload: { node: "a" } }, "amb/x.example": { service: {} } }),
      flotilla: addresses({ "Kubernetes//Pod/amb/api-1": { workload: { node: "b" } } }),
      found: [
        "wds Kubernetes//Pod/amb/api-1 different Pod/api-1.amb workload.node",
        "wds amb/x.example only istiod ServiceEntry/x.amb",
      ],
    },
    {
      name: "none where the identities of a service are in another order",
      istiod: addresses({ "amb/api": { service: { subjectAltNames: ["a", "b"] } } }),
      flotilla: addresses({ "amb/api": { service: { subjectAltNames: ["b", "a"] } } }),
      found: [],
    },
    {
      name: "name the policy of ztunnel",
      istiod: new Map([["wads", new Map([["amb/callers", { name: "callers", action: "DENY" }]])]]),
      flotilla: new Map([["wads", new Map([["amb/callers", { name: "callers" }]])]]),
      found: ["wads amb/callers different AuthorizationPolicy/callers.amb action"],
    },
    {
      name: "leave out types that istiod does not answer",
      istiod: capture("cds", cluster),
      flotilla: new Map([...capture("cds", cluster), ...capture("rds", routes("1s"))]),
      found: [],
    },
  ];
  for (const { name, istiod, flotilla, found, madeFrom } of cases) {
    it(name, () => {
      const { differences, identical, resources } = differencesOf("web.shop", istiod, flotilla, madeFrom);
      assert.deepEqual(
        differences.map(({ type, name: of, outcome, object, fields }) =>
          [type, of, outcome, object, ...fields.map(({ path }) => path)].join(" "),
        ),
        found,
      );
      assert.equal(identical, resources - found.length);
    });
  }

  const proxies = [differencesOf("web.shop", capture("rds", routes("1s")), capture("rds", routes("2s")))];
  const comparison = { proxies, notCompared: { router: 2 } };

  it("are shown by proxy and resource, with both values", () => {
    assert.deepEqual(describeComparison(comparison).split("\n"), [
      "PROXY      IDENTICAL   DIFFERENT",
      "web.shop   0/1         1",
      "",
      "web.shop rds 80 differs: VirtualService/reviews.shop",
      "  virtualHosts[1].routes[0].route.timeout",
      '    istiod   "1s"',
      '    flotilla "2s"',
      "",
      "0 of 1 proxies identical, 0 of 1 resources",
      "not compared: 2 of type router",
    ]);
  });

  it("are results of SARIF at the place of the resource", () => {
    const [run] = (sarifOf(comparison) as { readonly runs: readonly { readonly results: readonly object[] }[] }).runs;
    assert.deepEqual(run?.results, [
      {
        ruleId: "resource-differs",
        level: "error",
        message: {
          text: [
            "rds 80 differs: VirtualService/reviews.shop",
            "  virtualHosts[1].routes[0].route.timeout",
            '    istiod   "1s"',
            '    flotilla "2s"',
          ].join("\n"),
        },
        locations: [{ logicalLocations: [{ name: "80", kind: "resource", fullyQualifiedName: "web.shop/rds/80" }] }],
        properties: { proxy: "web.shop", object: "VirtualService/reviews.shop" },
      },
    ]);
  });
});
