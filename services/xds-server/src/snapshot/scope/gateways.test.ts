import assert from "node:assert/strict";
import { test } from "node:test";
import { Graph } from "@flotilla/incremental";
import { type Config, type Proxy, parseNode, type Service } from "@flotilla/model";
import type { JsonObject } from "@flotilla/proto";
import { aConfig, aPort, aService, put } from "../../testing/mesh.ts";
import { snapshotOf } from "../../testing/snapshot.ts";
import { decodeSpec } from "../config-specs.ts";
import { rowIndexes } from "../indexes/index.ts";
import { proxyTargets } from "../proxy-targets.ts";
import { keys } from "../row-index.ts";
import type { Subject } from "../subject.ts";
import { World } from "../world.ts";
import { mergedGateways, selectedGateways } from "./gateways.ts";

const router: Proxy = parseNode({
  id: "router~10.0.0.9~gw.istio-system~istio-system.svc.cluster.local",
  locality: { region: "", zone: "", subzone: "" },
  metadata: { NAMESPACE: "istio-system", CLUSTER_ID: "Kubernetes", LABELS: { istio: "ingressgateway" } },
});

/** The router's own Service: 80 is 8080 in the pod, 443 is 8443. */
const service: Service = aService("ingress", "istio-system", {
  ports: [aPort("http", 80, "HTTP"), aPort("https", 443, "HTTPS")],
  labelSelectors: { istio: "ingressgateway" },
  kubernetes: { type: "ClusterIP", nodeLocal: false, targetPorts: { 80: "8080", 443: "8443" } } as never,
});

const selector = { istio: "ingressgateway" };
const http = (hosts: readonly string[], more: JsonObject = {}) => ({
  port: { number: 80, name: "http", protocol: "HTTP" },
  hosts: [...hosts],
  ...more,
});
const https = (hosts: readonly string[], more: JsonObject = {}) => ({
  port: { number: 443, name: "https", protocol: "HTTPS" },
  hosts: [...hosts],
  tls: { mode: "SIMPLE", credentialName: "cert" },
  ...more,
});
const gateway = (name: string, servers: readonly JsonObject[], more: JsonObject = {}, namespace = "istio-system") =>
  aConfig("Gateway", namespace, name, { selector, servers: [...servers], ...more });

interface Case {
  readonly name: string;
  readonly objects: readonly (Config | Service)[];
  readonly scoped?: boolean;
  /** `port|bind: gateway hosts, …` of each listener. */
  readonly listeners: readonly string[];
  readonly routes?: readonly string[];
  readonly findings?: number;
}

const cases: readonly Case[] = [
  {
    name: "a server means the pod's port behind the Service's",
    objects: [service, gateway("a", [http(["a.example"])])],
    listeners: ["8080|: istio-system/a a.example"],
    routes: ["http.8080"],
  },
  {
    name: "without a Service the port is the pod's own",
    objects: [gateway("a", [http(["a.example"])])],
    listeners: ["80|: istio-system/a a.example"],
    routes: ["http.80"],
  },
  {
    name: "a Service may ask for the same numbers",
    objects: [
      { ...service, labels: { "experimental.istio.io/disable-gateway-port-translation": "true" } },
      gateway("a", [http(["a.example"])]),
    ],
    listeners: ["80|: istio-system/a a.example"],
  },
  {
    name: "a Gateway with another selector is for others, one without is for all",
    objects: [
      gateway("a", [http(["a.example"])], { selector: { istio: "other" } }),
      gateway("b", [http(["b"])], { selector: {} }),
    ],
    listeners: ["80|: istio-system/b b"],
  },
  {
    name: "Gateways of other namespaces select too, unless they are scoped",
    objects: [gateway("a", [http(["./a.example", "*/b.example", "shop/c.example"])], {}, "web")],
    listeners: ["80|: web/a web/a.example+b.example+shop/c.example"],
  },
  {
    name: "scoped Gateways select in their own namespace only",
    objects: [gateway("a", [http(["a.example"])], {}, "web"), gateway("b", [http(["b.example"])])],
    scoped: true,
    listeners: ["80|: istio-system/b b.example"],
  },
  {
    name: "a Gateway of a Service is for the Service's workloads and means its ports only",
    objects: [
      service,
      {
        ...gateway(
          "a",
          [http(["a.example"]), http(["b.example"], { port: { number: 81, name: "x", protocol: "HTTP" } })],
          {
            selector: {},
          },
        ),
        annotations: { "internal.istio.io/gateway-service": "ingress.istio-system.svc.cluster.local" },
      },
    ],
    listeners: ["8080|: istio-system/a a.example"],
  },
  {
    name: "plain HTTP servers share a route configuration, HTTPS servers have one each",
    objects: [
      gateway("b@2", [
        http(["b.example"], { port: { number: 80, name: "h2", protocol: "HTTP2" } }),
        https(["b.example"]),
      ]),
      gateway("a@1", [http(["a.example"]), https(["a.example"])]),
    ],
    listeners: [
      "80|: istio-system/a a.example, istio-system/b b.example",
      "443|: istio-system/a a.example, istio-system/b b.example",
    ],
    routes: ["http.80", "https.443.https.a.istio-system", "https.443.https.b.istio-system"],
  },
  {
    name: "an older TLS server keeps its hosts",
    objects: [gateway("a@1", [https(["a.example"])]), gateway("b@2", [https(["a.example", "b.example"])])],
    listeners: ["443|: istio-system/a a.example"],
    findings: 1,
  },
  {
    name: "plain TCP does not share a port with anything",
    objects: [
      gateway("a@1", [http(["a.example"])]),
      gateway("b@2", [http(["*"], { port: { number: 80, name: "tcp", protocol: "TCP" } })]),
    ],
    listeners: ["80|: istio-system/a a.example"],
    findings: 1,
  },
  {
    name: "each address has a listener of its own",
    objects: [
      gateway("a@1", [http(["*"], { port: { number: 80, name: "tcp", protocol: "TCP" }, bind: "10.0.0.1" })]),
      gateway("b@2", [http(["b.example"], { bind: "10.0.0.2" })]),
    ],
    listeners: ["80|10.0.0.1: istio-system/a *", "80|10.0.0.2: istio-system/b b.example"],
    routes: ["http.80.10.0.0.2"],
  },
];

for (const { name, objects, scoped = false, listeners, routes, findings = 0 } of cases)
  test(name, () => {
    const graph = new Graph<Subject>();
    const world = new World(graph, { indexes: rowIndexes, decode: decodeSpec });
    assert.deepEqual(world.apply(put(...objects)), []);
    graph.set(keys.feature("scopeGatewayToNamespace"), scoped);
    const targets = graph.evaluate(proxyTargets, undefined, { proxy: router, targets: [] });
    const { value: merged } = graph.observe(mergedGateways, undefined, { proxy: router, targets }, () => {});
    const texts = [...merged.listeners].map(
      ([key, { servers }]) =>
        `${key}: ${servers.map(({ gateway, hosts }) => `${gateway} ${hosts.join("+")}`).join(", ")}`,
    );
    assert.deepEqual(texts, listeners);
    if (routes !== undefined) assert.deepEqual([...merged.routes.keys()].sort(), routes);
    assert.equal(graph.findings().length, findings);
  });

test("a workload deployed for Gateways of one namespace takes no Gateway of another, which is reported", () => {
  const deployed = {
    ...gateway("deployed", [http(["a.example"])]),
    annotations: {
      "internal.istio.io/gateway-semantics": "gateway",
      "internal.istio.io/service-account-name": "edge",
    },
  };
  const changes = put(deployed, gateway("own", [http(["b.example"])]), gateway("foreign", [http(["c"])], {}, "bank"));
  const asked = snapshotOf({ changes, proxy: router, features: { strictGatewayMerging: true } });
  const names = asked.read(selectedGateways).map(({ name }) => name);
  assert.deepEqual(names.toSorted(), ["istio-system/deployed", "istio-system/own"]);
  assert.deepEqual(
    asked.findings(selectedGateways).map(({ object }) => object),
    ["Gateway/bank/foreign"],
  );
});
