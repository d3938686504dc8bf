/** Plans of Gateways: their Services and names, the sets that count, parameters, and the certificate for back ends. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Config } from "@flotilla/model";
import { builtInClasses, defaultClassSettings } from "./gateway-classes.ts";
import { type GatewayPlan, gatewayConfigs, planGateway } from "./gateway-plan.ts";
import type { KubernetesGatewaySpec, ListenerSetSpec, ListenerSpec } from "./gateway-spec.ts";

const http: ListenerSpec = { name: "http", port: 80, protocol: "HTTP" };

interface Given {
  readonly spec?: KubernetesGatewaySpec;
  readonly annotations?: Config["annotations"];
  readonly sets?: readonly Config<ListenerSetSpec>[];
  readonly problem?: string;
  readonly allowsManual?: boolean;
}

function planned({ spec = {}, annotations = {}, sets = [], problem, allowsManual = true }: Given): GatewayPlan {
  const gateway: Config<KubernetesGatewaySpec> = {
    key: { kind: "KubernetesGateway", namespace: "infra", name: "edge" },
    ...{ labels: {}, annotations, creationTimeMs: 7 },
    spec: { gatewayClassName: "istio", listeners: [http], ...spec },
  };
  const plan = planGateway(gateway, sets, {
    domain: "cluster.local",
    classes: builtInClasses({ ...defaultClassSettings, allowsManual }),
    controllerOf: () => undefined,
    hasConfigMap: (_, name) => name === "params",
    parametersProblem: () => problem,
    namespaces: () => [{ name: "shop", labels: { team: "a" } }],
    certificateProblem: (namespace, name) => (name === "lost" ? `secret ${namespace}/${name} not found` : undefined),
    rootsProblem: () => undefined,
    grantsIn: () => [],
  });
  assert.ok(plan !== undefined);
  return plan;
}

const own = "infra.svc.cluster.local";
const places: readonly (readonly [string, Given, readonly string[], string])[] = [
  ["its own Service", {}, [`edge-istio.${own}`], "edge-istio"],
  ["one named as a waypoint", { spec: { gatewayClassName: "istio-waypoint" } }, [`edge.${own}`], "edge"],
  ["another name", { annotations: { "gateway.istio.io/name-override": "gw" } }, [`gw.${own}`], "gw"],
  [
    "another service account",
    { annotations: { "gateway.istio.io/service-account": "sa" } },
    [`edge-istio.${own}`],
    "sa",
  ],
  ["one IP address", { spec: { addresses: [{ value: "10.0.0.1" }] } }, [`edge-istio.${own}`], "edge-istio"],
  [
    "Services of users",
    {
      spec: {
        addresses: [
          { type: "Hostname", value: "gw" },
          { type: "Hostname", value: "gw.other.svc" },
        ],
      },
    },
    [`gw.${own}`, "gw.other.svc"],
    "",
  ],
  [
    "its own Service where there are none of users",
    { spec: { addresses: [{ type: "Hostname", value: "gw" }] }, allowsManual: false },
    [`edge-istio.${own}`],
    "edge-istio",
  ],
];

describe("a Gateway stands behind", () => {
  for (const [name, given, services, account] of places)
    it(name, () => {
      const plan = planned(given);
      assert.deepEqual(plan.services, services);
      assert.equal(plan.serviceAccount, account);
      assert.equal(plan.addressProblem, undefined);
    });
  it("the host names among its addresses, with a problem for the others", () => {
    const addresses = [
      { type: "Hostname", value: "gw" },
      { type: "IPAddress", value: "10.0.0.1" },
    ];
    const plan = planned({ spec: { addresses } });
    assert.deepEqual(plan.services, [`gw.${own}`]);
    assert.equal(plan.addressProblem?.message, "only Hostname is supported, ignoring [10.0.0.1]");
    assert.equal(plan.listeners.length, 1);
  });
  it("nothing where its addresses are none of host names, and then serves nothing", () => {
    const addresses = [{ value: "10.0.0.1" }, { value: "10.0.0.2" }];
    const plan = planned({ spec: { addresses } });
    assert.deepEqual([plan.services, plan.listeners], [[], []]);
  });
});

describe("the listener sets of a Gateway", () => {
  const aSet = (namespace: string, name: string, creationTimeMs: number): Config<ListenerSetSpec> => ({
    ...{ key: { kind: "ListenerSet", namespace, name }, labels: {}, annotations: {}, creationTimeMs },
    spec: { listeners: [{ ...http, name: "more", port: 8080 }] },
  });
  const sets = [aSet("shop", "young", 2), aSet("infra", "old", 1)];
  const allowing = (namespaces: object): KubernetesGatewaySpec => ({ allowedListeners: { namespaces } });

  for (const [name, spec, want] of [
    ["none where it allows none", {}, ["old NotAllowed", "young NotAllowed"]],
    ["those of its namespace", allowing({ from: "Same" }), ["old serves", "young NotAllowed"]],
    ["those of all, the oldest first", allowing({ from: "All" }), ["old serves", "young HostnameConflict"]],
    [
      "those of namespaces with a label",
      allowing({ from: "Selector", selector: { matchLabels: { team: "a" } } }),
      ["old NotAllowed", "young serves"],
    ],
    [
      "none of a waypoint",
      { ...allowing({ from: "All" }), gatewayClassName: "istio-waypoint" },
      ["old NotAllowed", "young NotAllowed"],
    ],
  ] as const)
    it(`are ${name}`, () => {
      const plan = planned({ spec, sets });
      const shown = plan.sets.map(({ key, problem, listeners: [first] }) => {
        return `${key.name} ${problem?.reason ?? first?.problems.conflicted?.reason ?? "serves"}`;
      });
      assert.deepEqual(shown, want);
      assert.equal(plan.listeners[0]?.problems.conflicted, undefined);
    });

  it("become Gateways of Istio's API beside its own listeners", () => {
    const configs = gatewayConfigs(planned({ spec: allowing({ from: "Same" }), sets }));
    assert.deepEqual(
      configs.map(({ key, creationTimeMs }) => [key.kind, key.namespace, key.name, creationTimeMs]),
      [
        ["Gateway", "infra", "edge~istio-autogenerated-k8s-gateway~http", 7],
        ["Gateway", "infra", "old~istio-autogenerated-k8s-gateway~more", 1],
      ],
    );
    const [first, second] = configs.map(({ annotations }) => annotations);
    assert.deepEqual(first, {
      "internal.istio.io/gateway-semantics": "gateway",
      "internal.istio.io/gateway-service": `edge-istio.${own}`,
      "internal.istio.io/parents": "Gateway/edge/http.infra",
      "internal.istio.io/service-account-name": "edge-istio",
    });
    assert.equal(second?.["internal.istio.io/parents"], "ListenerSet/old/more.infra");
    assert.equal(second["internal.istio.io/parent-namespace"], "infra");
  });
});

describe("the parameters of a Gateway", () => {
  const problemOf = (parametersRef: object, problem?: string) =>
    planned({ spec: { infrastructure: { parametersRef } }, ...(problem !== undefined && { problem }) })
      .parametersProblem;
  for (const [name, ref, problem, message] of [
    ["in a ConfigMap", { kind: "ConfigMap", name: "params" }, undefined, undefined],
    ["that cannot be followed", { kind: "ConfigMap", name: "params" }, "odd", "ConfigMap params: odd"],
    [
      "that are not there",
      { kind: "ConfigMap", name: "lost" },
      undefined,
      "parametersRef ConfigMap infra/lost does not exist",
    ],
    [
      "of another kind",
      { kind: "Secret", name: "params" },
      undefined,
      "Unsupported parametersRef group/kind /Secret, only ConfigMap is supported",
    ],
    [
      "of another group",
      { group: "x.io", kind: "ConfigMap", name: "params" },
      undefined,
      "Unsupported parametersRef group/kind x.io/ConfigMap, only ConfigMap is supported",
    ],
  ] as const)
    it(name, () => {
      const found = problemOf(ref, problem);
      assert.deepEqual(found, message === undefined ? undefined : { reason: "InvalidParameters", message });
    });
});

describe("the certificate that a Gateway shows to back ends", () => {
  const found = (clientCertificateRef?: object) => {
    const plan = planned({ spec: { tls: { backend: { ...(clientCertificateRef && { clientCertificateRef }) } } } });
    return plan.clientCredential ?? plan.clientCertificateProblem;
  };
  const invalid = (message: string) => ({ reason: "InvalidClientCertificateRef", message });
  it("is a Secret of its namespace", () => {
    assert.equal(found({ name: "pair" }), "kubernetes-gateway://infra/pair");
    assert.equal(found(), undefined);
  });
  it("is refused where it is none", () => {
    assert.deepEqual(
      found({ name: "lost" }),
      invalid("invalid clientCertificateRef //lost., secret infra/lost not found"),
    );
    const only = "only secret is allowed";
    assert.deepEqual(
      found({ kind: "ConfigMap", name: "pair" }),
      invalid(`invalid clientCertificateRef /ConfigMap/pair., ${only}`),
    );
    assert.deepEqual(
      found({ group: "x.io", name: "pair" }),
      invalid(`invalid clientCertificateRef x.io//pair., ${only}`),
    );
  });
  it("is another namespace's only with a grant", () => {
    const { reason, message } = found({ name: "pair", namespace: "vault" }) as { reason: string; message: string };
    assert.equal(reason, "RefNotPermitted");
    assert.match(message, /^clientCertificateRef vault\/pair not accessible to a Gateway in namespace "infra"/);
  });
});
