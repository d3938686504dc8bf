/** Policies for ztunnels: which there are, and which of them are named with a workload. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Labels, Workload } from "@flotilla/model";
import type { JsonObject } from "@flotilla/proto";
import { aConfig, aMesh, aSidecar } from "../../testing/mesh.ts";
import { query } from "../view.ts";
import { ambientPolicyNames, policiesOfWorkload } from "./policies.ts";

const selector = { selector: { matchLabels: { app: "web" } } };
const strict = { mtls: { mode: "STRICT" } };
const ports = { mtls: { mode: "STRICT" }, portLevelMtls: { 8080: { mode: "PERMISSIVE" } } };

/** By `Kind/namespace/name`. */
type Policies = Readonly<Record<string, JsonObject>>;

function meshOf(policies: Policies) {
  return aMesh(
    ...Object.entries(policies).map(([path, spec]) => {
      const [kind = "", namespace = "", name = ""] = path.split("/");
      return aConfig(kind, namespace, name, spec);
    }),
  );
}

function aWorkload(labels: Labels, kind: Workload["kind"], namespace: string): Workload {
  return { kind, namespace, name: "w", labels } as Workload;
}

const cases: readonly {
  readonly name: string;
  readonly policies: Policies;
  readonly labels?: Labels;
  readonly kind?: Workload["kind"];
  readonly namespace?: string;
  readonly want: readonly string[];
}[] = [
  { name: "none", policies: {}, want: [] },
  {
    name: "those that select it, of its namespace and of the root namespace, in order of their names",
    policies: {
      "AuthorizationPolicy/shop/own": selector,
      "AuthorizationPolicy/istio-system/all": selector,
      "AuthorizationPolicy/other/others": selector,
    },
    want: ["istio-system/all", "shop/own"],
  },
  {
    name: "not those of its whole namespace, which ztunnels find themselves",
    policies: { "AuthorizationPolicy/shop/all": {} },
    want: [],
  },
  {
    name: "not those that select others",
    policies: { "AuthorizationPolicy/shop/own": selector },
    labels: { app: "other" },
    want: [],
  },
  {
    name: "a pod without labels is selected by none",
    policies: { "AuthorizationPolicy/shop/own": selector },
    labels: {},
    want: [],
  },
  {
    name: "a ServiceEntry without labels counts as selected",
    policies: { "AuthorizationPolicy/shop/own": selector },
    labels: {},
    kind: "ServiceEntry",
    want: ["shop/own"],
  },
  {
    name: "an address of a slice has none",
    policies: { "AuthorizationPolicy/shop/own": selector },
    kind: "EndpointSlice",
    want: [],
  },
  {
    name: "a namespace that takes mutual TLS alone has the static policy",
    policies: { "PeerAuthentication/shop/default": strict },
    want: ["istio-system/istio_converted_static_strict"],
  },
  {
    name: "ports with modes of their own make a policy of their object, in place of the static one",
    policies: { "PeerAuthentication/shop/web": { ...selector, ...ports } },
    want: ["shop/converted_peer_authentication_web"],
  },
  {
    name: "of the root namespace objects with a selector do not count",
    policies: { "PeerAuthentication/istio-system/web": { ...selector, ...strict } },
    namespace: "istio-system",
    want: [],
  },
];

describe("policies of a workload", () => {
  for (const { name, policies, labels = { app: "web" }, kind = "Pod", namespace = "shop", want } of cases)
    it(name, () => {
      const core = meshOf(policies);
      const workload = aWorkload(labels, kind, namespace);
      const found = query("test-policies", (view) => policiesOfWorkload(view, workload));
      assert.deepEqual(core.read(found, core.subjectOf(aSidecar("shop"))), want);
    });
});

it("there may be a policy for each object, and the static one where there are PeerAuthentications", () => {
  const names = (policies: Policies) => {
    const core = meshOf(policies);
    return core.read(ambientPolicyNames, core.subjectOf(aSidecar("shop")));
  };
  assert.deepEqual(names({ "AuthorizationPolicy/shop/own": selector }), ["shop/own"]);
  assert.deepEqual(names({ "PeerAuthentication/shop/web": strict }), [
    "istio-system/istio_converted_static_strict",
    "shop/converted_peer_authentication_web",
  ]);
});
