/** Findings of analyzers in AuthorizationPolicies: workloads that they protect, namespaces that they name. */
import { aPod, check, one } from "./analyzers.fixture.ts";

const policy = (spec: object, namespace = "shop") => one("AuthorizationPolicy", "p", spec, { namespace });
const from = (source: object) => policy({ rules: [{ from: [{ source }] }] });
const selecting = (labels: object, namespace?: string) => policy({ selector: { matchLabels: labels } }, namespace);
const sidecar = { containers: [{ name: "istio-proxy", image: "proxy" }] };
const web = aPod("web-1", { app: "web" }, { spec: sidecar });
const bank = one("Namespace", "bank", {}, { namespace: "" });
const lost = (field: string, at = 0) => [`ReferencedResourceNotFound p spec.rules[0].from[0].source.${field}[${at}]`];
const without = "spec.selector";
const ofGateway = { "gateway.networking.k8s.io/gateway-name": "edge" };
const ineffective = [`IneffectiveSelector p ${without}`];

check("gateway-selectors", [
  ["one that selects the pod of a gateway", [selecting(ofGateway), aPod("edge-1", ofGateway)], ineffective],
  ["one that selects other pods alone", [selecting({ app: "web" }), web, aPod("edge-1", ofGateway)], []],
  ["one whose gateway is elsewhere", [selecting(ofGateway, "bank"), aPod("edge-1", ofGateway)], []],
  ["one for all of a namespace", [policy({}), aPod("edge-1", ofGateway)], []],
  [
    "one that names its target",
    [
      policy({ selector: { matchLabels: ofGateway }, targetRef: { kind: "Gateway", name: "edge" } }),
      aPod("edge-1", ofGateway),
    ],
    [],
  ],
  [
    "one that names its targets",
    [
      policy({ selector: { matchLabels: ofGateway }, targetRefs: [{ kind: "Gateway", name: "edge" }] }),
      aPod("edge-1", ofGateway),
    ],
    [],
  ],
]);

check("authorization-policies", [
  ["one for all of a namespace with a workload", [policy({}), web], []],
  ["one for all of a namespace without workloads", [policy({}, "bank"), web], ["NoMatchingWorkloads p"]],
  ["one for all of the mesh", [policy({}, "istio-system"), web], []],
  ["one that selects a workload", [selecting({ app: "web" }), web], []],
  ["one that selects none", [selecting({ app: "db" }), web], [`NoMatchingWorkloads p ${without}`]],
  ["one whose workloads are elsewhere", [selecting({ app: "web" }, "bank"), web], [`NoMatchingWorkloads p ${without}`]],
  ["one of the root namespace for a workload elsewhere", [selecting({ app: "web" }, "istio-system"), web], []],
  ["a pod without a sidecar", [policy({}), aPod("web-1", { app: "web" })], ["NoMatchingWorkloads p"]],

  ["a namespace", [from({ namespaces: ["bank"] }), web, bank], []],
  ["a namespace in other letters", [from({ namespaces: ["BANK"] }), web, bank], []],
  ["no such namespace", [from({ namespaces: ["bank", "bang"] }), web, bank], lost("namespaces", 1)],
  ["less than a namespace's name", [from({ namespaces: ["ban"] }), web, bank], lost("namespaces")],
  ["one letter more than a namespace's name", [from({ namespaces: ["bank2"] }), web, bank], lost("namespaces")],
  ["no such namespace to be excluded", [from({ notNamespaces: ["bang"] }), web, bank], lost("notNamespaces")],
  ["a beginning of a namespace's name", [from({ namespaces: ["ba*"] }), web, bank], []],
  ["a beginning of no namespace's name", [from({ namespaces: ["an*"] }), web, bank], lost("namespaces")],
  ["an end of a namespace's name", [from({ namespaces: ["*nk"] }), web, bank], []],
  ["an end of no namespace's name", [from({ namespaces: ["*an"] }), web, bank], lost("namespaces")],
  ["any namespace, where none is known", [from({ namespaces: ["*"] }), web], []],
]);
