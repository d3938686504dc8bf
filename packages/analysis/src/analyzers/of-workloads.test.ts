/** Findings of analyzers in what selects workloads, and in workloads and Services themselves. */
import { aPod, aService, check, one } from "./analyzers.fixture.ts";

const selecting = (kind: string, name: string, labels: object | undefined, namespace?: string) => {
  const field = kind === "Sidecar" ? { workloadSelector: { labels } } : { selector: { matchLabels: labels } };
  return one(kind, name, labels === undefined ? {} : field, namespace === undefined ? {} : { namespace });
};
const ambient = { labels: { "istio.io/dataplane-mode": "ambient" } };
const web = aPod("web-1", { app: "web", tier: "front" });

check("sidecar-selectors", [
  ["one that selects a pod", [selecting("Sidecar", "a", { app: "web" }), web], []],
  [
    "one that selects none",
    [selecting("Sidecar", "a", { app: "db" }), web],
    ["ReferencedResourceNotFound a spec.workloadSelector.labels"],
  ],
  [
    "one whose pods are elsewhere",
    [selecting("Sidecar", "a", { app: "web" }, "bank"), web],
    ["ReferencedResourceNotFound a spec.workloadSelector.labels"],
  ],
  [
    "two of one pod",
    [selecting("Sidecar", "a", { app: "web" }), selecting("Sidecar", "b", { tier: "front" }), web],
    [
      "ConflictingSidecarSelectors a spec.workloadSelector.labels",
      "ConflictingSidecarSelectors b spec.workloadSelector.labels",
    ],
  ],
  [
    "two of different pods",
    [
      selecting("Sidecar", "a", { app: "web" }),
      selecting("Sidecar", "b", { app: "db" }),
      web,
      aPod("db-1", { app: "db" }),
    ],
    [],
  ],
  ["one for all", [selecting("Sidecar", "a", undefined), web], []],
  [
    "one for all beside one that selects",
    [selecting("Sidecar", "a", undefined), selecting("Sidecar", "b", { app: "web" }), web],
    [],
  ],
  [
    "two for all",
    [selecting("Sidecar", "a", undefined), selecting("Sidecar", "b", {})],
    ["MultipleSidecarsWithoutSelector a", "MultipleSidecarsWithoutSelector b"],
  ],
  [
    "two for all of two namespaces",
    [selecting("Sidecar", "a", undefined), selecting("Sidecar", "b", undefined, "bank")],
    [],
  ],
  [
    "one for all of an ambient namespace",
    [selecting("Sidecar", "a", undefined), one("Namespace", "shop", {}, { namespace: "", ...ambient })],
    ["IneffectivePolicy a"],
  ],
]);

check("telemetry-selectors", [
  ["one that selects a pod", [selecting("Telemetry", "a", { app: "web" }), web], []],
  [
    "one that selects none",
    [selecting("Telemetry", "a", { app: "db" }), web],
    ["ReferencedResourceNotFound a spec.selector.matchLabels"],
  ],
  [
    "two of one pod",
    [selecting("Telemetry", "a", { app: "web" }), selecting("Telemetry", "b", { tier: "front" }), web],
    [
      "ConflictingTelemetrySelectors a spec.selector.matchLabels",
      "ConflictingTelemetrySelectors b spec.selector.matchLabels",
    ],
  ],
  ["one for all", [selecting("Telemetry", "a", undefined), selecting("Telemetry", "b", { app: "web" }), web], []],
]);

check("namespace-telemetries", [
  ["one for all", [selecting("Telemetry", "a", undefined), selecting("Telemetry", "b", { app: "web" })], []],
  [
    "two for all",
    [selecting("Telemetry", "a", undefined), selecting("Telemetry", "b", undefined)],
    ["MultipleTelemetriesWithoutSelector a", "MultipleTelemetriesWithoutSelector b"],
  ],
  [
    "two for all of two namespaces",
    [selecting("Telemetry", "a", undefined), selecting("Telemetry", "b", undefined, "bank")],
    [],
  ],
]);

const deployed = (template: object, more: object = {}) =>
  one("Deployment", "d", { template: { metadata: { labels: { app: "web" } }, ...template } }, more);
const injected = one("Namespace", "shop", {}, { namespace: "", labels: { "istio-injection": "enabled" } });
const ofWeb = (name: string, ports: readonly (number | object)[], more: object = {}) =>
  aService(name, ports, { selector: { app: "web" } }, more);

check("deployment-services", [
  ["one Service", [deployed({}), injected, ofWeb("a", [80])], []],
  [
    "one port of two protocols",
    [deployed({}), injected, ofWeb("a", [{ port: 80, protocol: "UDP" }]), ofWeb("b", [80])],
    ["DeploymentWithSeveralProtocols d"],
  ],
  ["one port twice", [deployed({}), injected, ofWeb("a", [{ port: 80, protocol: "TCP" }]), ofWeb("b", [80])], []],
  [
    "one target of two ports",
    [
      deployed({}),
      injected,
      ofWeb("a", [{ port: 80, targetPort: 8080 }]),
      ofWeb("b", [{ port: 81, targetPort: 8080 }]),
    ],
    ["DeploymentConflictingPorts d"],
  ],
  [
    "a target that is another's port",
    [deployed({}), injected, ofWeb("a", [{ port: 80, targetPort: 81 }]), ofWeb("b", [81])],
    ["DeploymentConflictingPorts d"],
  ],
  [
    "targets of zero",
    [deployed({}), injected, ofWeb("a", [{ port: 80, targetPort: 0 }]), ofWeb("b", [{ port: 81, targetPort: 0 }])],
    [],
  ],
  [
    "Services of others",
    [
      deployed({}),
      injected,
      ofWeb("a", [{ port: 80, targetPort: 81 }]),
      aService("b", [81], { selector: { app: "db" } }),
    ],
    [],
  ],
  [
    "Services without a selector",
    [deployed({}), injected, ofWeb("a", [{ port: 80, targetPort: 81 }]), aService("b", [81])],
    [],
  ],
  [
    "Services of another namespace",
    [deployed({}), injected, ofWeb("a", [{ port: 80, targetPort: 81 }]), ofWeb("b", [81], { namespace: "bank" })],
    [],
  ],
  [
    "a Deployment that is not injected",
    [deployed({}), ofWeb("a", [{ port: 80, targetPort: 81 }]), ofWeb("b", [81])],
    [],
  ],
  [
    "a waypoint",
    [
      deployed({}, { labels: { "gateway.istio.io/managed": "istio.io-mesh-controller" } }),
      injected,
      ofWeb("a", [{ port: 80, targetPort: 81 }]),
      ofWeb("b", [81]),
    ],
    [],
  ],
]);

const user = (runAsUser: number) => ({ securityContext: { runAsUser } });

check("application-user", [
  ["another user", [aPod("p", {}, { spec: user(1000) })], []],
  ["the proxy's", [aPod("p", {}, { spec: user(1337) })], ["InvalidApplicationUid p spec.securityContext.runAsUser"]],
  [
    "the proxy's, of containers",
    [
      aPod(
        "p",
        {},
        {
          spec: {
            containers: [
              { name: "a", ...user(1) },
              { name: "b", ...user(1337) },
              { name: "c", ...user(1337) },
            ],
          },
        },
      ),
    ],
    ["InvalidApplicationUid p spec.containers[1].securityContext.runAsUser"],
  ],
  ["the proxy itself", [aPod("p", {}, { spec: { containers: [{ name: "istio-proxy", ...user(1337) }] } })], []],
  [
    "of a Deployment",
    [deployed({ spec: user(1337) })],
    ["InvalidApplicationUid d spec.template.spec.securityContext.runAsUser"],
  ],
]);

const named = (name: string, more: object = {}) => aService("s", [{ name, port: 80, ...more }]);
const unnamed = ["PortNameWithoutProtocol s spec.ports[0]"];

check("port-names", [
  ["http", [named("http")], []],
  ["http-web", [named("http-web")], []],
  ["web", [named("web")], unnamed],
  ["no name", [aService("s", [80])], unnamed],
  ["grpc-web-x", [named("grpc-web-x")], []],
  ["GRPC-WEB", [named("GRPC-WEB")], []],
  ["any name of UDP", [named("web", { protocol: "UDP" })], []],
  ["any name of a port of MySQL", [aService("s", [{ name: "web", port: 3306 }])], []],
  ["an application's protocol", [named("web", { appProtocol: "http" })], []],
  ["an application's protocol of Kubernetes", [named("web", { appProtocol: "kubernetes.io/h2c" })], []],
  ["an unknown application protocol", [named("http", { appProtocol: "x" })], unnamed],
  ["a name of Kubernetes", [named("kubernetes.io/h2c")], unnamed],
  [
    "tcp of a name elsewhere",
    [aService("s", [{ name: "tcp", port: 80 }], { type: "ExternalName" })],
    ["ExternalNamePortName s spec.ports[0]"],
  ],
  [
    "web of a name elsewhere",
    [aService("s", [{ name: "web", port: 80 }], { type: "ExternalName" })],
    ["ExternalNamePortName s spec.ports[0]"],
  ],
  ["http of a name elsewhere", [aService("s", [{ name: "http", port: 80 }], { type: "ExternalName" })], []],
  ["tcp", [named("tcp")], []],
  [
    "a Service of a gateway that is made here",
    [aService("s", [80], {}, { labels: { "gateway.istio.io/managed": "istio.io-gateway-controller" } })],
    [],
  ],
]);

const entry = (spec: object, fields: object = {}) =>
  one("ServiceEntry", "e", { hosts: ["a.example.com"], ...spec }, { fields });
const needed = ["ServiceEntryAddressesRequired e spec.ports[0]"];
const ports = (protocol?: string) => ({ ports: [{ number: 80, ...(protocol !== undefined && { protocol }) }] });

check("service-entry-addresses", [
  ["TCP", [entry(ports("TCP"))], needed],
  ["tcp", [entry(ports("tcp"))], needed],
  ["no protocol", [entry(ports())], needed],
  ["HTTP", [entry(ports("HTTP"))], []],
  ["with addresses", [entry({ ...ports("TCP"), addresses: ["10.0.0.1"] })], []],
  [
    "with addresses that were allocated",
    [entry(ports("TCP"), { status: { addresses: [{ value: "240.0.0.1" }] } })],
    [],
  ],
]);

const auto = { spec: { containers: [{ name: "istio-proxy", image: "auto" }] } };
const webhook = (webhooks: readonly object[]) =>
  one("MutatingWebhookConfiguration", "w", {}, { namespace: "", fields: { webhooks } });
const byNamespace = { name: "a.istio.io", namespaceSelector: { matchLabels: { "istio-injection": "enabled" } } };
const waits = ["ImageAutoWithoutInjectionWarning d spec.template.spec.containers[0].image"];

check("automatic-images", [
  ["a pod", [aPod("p", {}, auto)], ["ImageAutoWithoutInjectionError p spec.containers[0].image"]],
  ["a pod with an image", [aPod("p", {}, { spec: { containers: [{ name: "istio-proxy", image: "x" }] } })], []],
  ["another container", [aPod("p", {}, { spec: { containers: [{ name: "app", image: "auto" }] } })], []],
  ["a Deployment without a webhook", [deployed(auto)], waits],
  ["a Deployment that a webhook selects", [deployed(auto), injected, webhook([byNamespace])], []],
  ["a Deployment of another namespace", [deployed(auto), webhook([byNamespace])], waits],
  [
    "a Deployment whose pods are not selected",
    [deployed(auto), injected, webhook([{ ...byNamespace, objectSelector: { matchLabels: { app: "db" } } }])],
    waits,
  ],
  ["another's webhook", [deployed(auto), injected, webhook([{ ...byNamespace, name: "a.example.com" }])], waits],
]);
