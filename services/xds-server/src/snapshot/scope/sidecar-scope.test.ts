import assert from "node:assert/strict";
import { test } from "node:test";
import { Graph } from "@flotilla/incremental";
import type { Config, Service } from "@flotilla/model";
import type { JsonObject } from "@flotilla/proto";
import { aConfig, aPort, aService, aSidecar, put } from "../../testing/mesh.ts";
import { decodeSpec } from "../config-specs.ts";
import { rowIndexes } from "../indexes/index.ts";
import type { Subject } from "../subject.ts";
import { query, type ViewQuery } from "../view.ts";
import { World } from "../world.ts";
import { proxyEgressListeners } from "./sidecar.ts";
import { importedAliases, listenerServices, visibleServices } from "./sidecar-scope.ts";

const scope = query<readonly Service[]>("scope", visibleServices);

function asked<T>(values: readonly (Service | Config)[], question: ViewQuery<undefined, T>, namespace = "shop"): T {
  const graph = new Graph<Subject>();
  const world = new World(graph, { indexes: rowIndexes, decode: decodeSpec });
  assert.deepEqual(world.apply(put(...values)), []);
  return graph.evaluate(question, undefined, { proxy: aSidecar(namespace), targets: [] });
}

/** `host:port,port namespace` of what a proxy of namespace `shop` may call. */
function visible(values: readonly (Service | Config)[], namespace = "shop"): readonly string[] {
  return asked(values, scope, namespace).map(
    ({ hostname, ports, namespace: home }) => `${hostname}:${ports.map(({ number }) => number).join(",")} ${home}`,
  );
}

const external = (name: string, hostname: string, more: Partial<Service> = {}) =>
  aService(name, "shop", { hostname, registry: "External", ...more });
const aSidecarWith = (egress: JsonObject[], more: JsonObject = {}) =>
  aConfig("Sidecar", "shop", "default", { egress, ...more });
const two = { ports: [aPort("http", 80, "HTTP"), aPort("http-2", 8080, "HTTP")] };

const cases: readonly {
  name: string;
  values: readonly (Service | Config)[];
  namespace?: string;
  want: readonly string[];
}[] = [
  {
    name: "without a Sidecar everything that is exported is visible",
    values: [
      aService("a", "shop"),
      aService("b", "depot"),
      aService("private", "depot", { exportTo: ["."] }),
      aService("for-shop", "depot", { exportTo: ["shop"] }),
      aService("hidden", "shop", { exportTo: ["~"] }),
    ],
    want: [
      "for-shop.depot.svc.cluster.local:80 depot",
      "a.shop.svc.cluster.local:80 shop",
      "b.depot.svc.cluster.local:80 depot",
    ],
  },
  {
    name: "a dot imports the own namespace",
    values: [aService("a", "shop"), aService("b", "depot"), aSidecarWith([{ hosts: ["./*"] }])],
    want: ["a.shop.svc.cluster.local:80 shop"],
  },
  {
    name: "a listener with a port imports that port only, and listeners add up",
    values: [
      aService("a", "shop", two),
      aSidecarWith([{ port: { number: 8080, protocol: "HTTP", name: "http" }, hosts: ["./*"] }, { hosts: ["~/*"] }]),
    ],
    want: ["a.shop.svc.cluster.local:8080 shop"],
  },
  {
    name: "a tilde takes hosts of a namespace, or of any, out of what is imported, in whatever order",
    values: [
      aService("a", "shop"),
      aService("b", "depot"),
      aService("c", "depot"),
      aService("d", "jobs"),
      aSidecarWith([{ hosts: ["~jobs/*", "*/*", "~/b.depot.svc.cluster.local", "~./none.example"] }]),
    ],
    want: ["a.shop.svc.cluster.local:80 shop", "c.depot.svc.cluster.local:80 depot"],
  },
  {
    name: "an excluded service that an imported VirtualService sends traffic to is visible all the same",
    values: [
      aService("a", "shop"),
      aService("b", "depot"),
      aConfig("VirtualService", "shop", "vs", {
        hosts: ["a"],
        http: [{ route: [{ destination: { host: "b.depot.svc.cluster.local" } }] }],
      }),
      aConfig("VirtualService", "depot", "excluded", {
        hosts: ["x.example"],
        http: [{ route: [{ destination: { host: "c.depot.svc.cluster.local" } }] }],
      }),
      aService("c", "depot"),
      aSidecarWith([{ hosts: ["*/*", "~depot/*"] }]),
    ],
    want: ["a.shop.svc.cluster.local:80 shop", "b.depot.svc.cluster.local:80 depot"],
  },
  {
    name: "without a Sidecar too, a service that its namespace hides from itself is visible as a destination",
    values: [
      aService("a", "shop"),
      aService("b", "shop", { exportTo: ["depot"] }),
      aConfig("VirtualService", "shop", "vs", {
        hosts: ["a"],
        http: [{ route: [{ destination: { host: "b" } }] }],
      }),
    ],
    want: ["a.shop.svc.cluster.local:80 shop", "b.shop.svc.cluster.local:80 shop"],
  },
  {
    name: "what an imported VirtualService sends traffic to is visible too, with the port it names",
    values: [
      aService("a", "shop"),
      aService("b", "depot", two),
      aConfig("VirtualService", "shop", "vs", {
        hosts: ["a"],
        http: [{ route: [{ destination: { host: "b.depot.svc.cluster.local", port: { number: 8080 } } }] }],
      }),
      aSidecarWith([{ hosts: ["./*"] }]),
    ],
    want: ["a.shop.svc.cluster.local:80 shop", "b.depot.svc.cluster.local:8080 depot"],
  },
  {
    name: "ServiceEntries of one host and namespace are one service with the ports of both",
    values: [
      external("one", "x.example", { creationTimeMs: 1 }),
      external("two", "x.example", { creationTimeMs: 2, ports: [aPort("grpc", 9000, "GRPC")] }),
    ],
    want: ["x.example:80,9000 shop"],
  },
  {
    name: "a Kubernetes service keeps its name against an older ServiceEntry",
    values: [
      aService("a", "shop", { creationTimeMs: 5 }),
      external("squatter", "a.shop.svc.cluster.local", { ports: [aPort("tcp", 1, "TCP")] }),
    ],
    want: ["a.shop.svc.cluster.local:80 shop"],
  },
  {
    name: "of one host in several namespaces the proxy's own counts",
    values: [
      external("x", "x.example", { namespace: "depot" }),
      external("x", "x.example", { creationTimeMs: 9, ports: [aPort("http", 81, "HTTP")] }),
    ],
    want: ["x.example:81 shop"],
  },
  {
    name: "the root namespace's Sidecar holds where there is no other",
    values: [
      aService("a", "shop"),
      aService("b", "depot"),
      aConfig("Sidecar", "istio-system", "default", { egress: [{ hosts: ["./*"] }] }),
    ],
    want: ["a.shop.svc.cluster.local:80 shop"],
  },
  {
    name: "a Sidecar that selects the workload counts more than the namespace's",
    values: [
      aService("a", "shop"),
      aService("b", "depot"),
      aSidecarWith([{ hosts: ["./*"] }]),
      aConfig("Sidecar", "shop", "selected", {
        workloadSelector: { labels: { app: "web" } },
        egress: [{ hosts: ["depot/*"] }],
      }),
    ],
    want: ["b.depot.svc.cluster.local:80 depot"],
  },
];

for (const { name, values, namespace, want } of cases) {
  test(name, () => assert.deepEqual(visible(values, namespace), want));
}

const aliases = query<readonly string[]>("aliases-by-listener", (view) =>
  proxyEgressListeners(view).flatMap(({ name }) =>
    view
      .read(listenerServices, name)
      .filter(({ resolution }) => resolution !== "alias")
      .flatMap((service) => importedAliases(view, name, service).map((alias) => `${service.name}=${alias}`)),
  ),
);

test("other names of a service come with the hosts that import the service", () => {
  const host = "a.depot.svc.cluster.local";
  const alias = (name: string, namespace: string) =>
    aService(name, namespace, { resolution: "alias", kubernetes: { externalName: host } as never });
  const values = [aService("a", "depot"), alias("b", "shop"), alias("c", "depot")];
  const [b, c] = ["a=b.shop.svc.cluster.local", "a=c.depot.svc.cluster.local"];
  const found = (...hosts: string[]) => asked([...values, aSidecarWith([{ hosts }])], aliases);
  assert.deepEqual(asked(values, aliases), [c, b]);
  assert.deepEqual(found("./*", `depot/${host}`), []);
  assert.deepEqual(found("./*", "depot/*.depot.svc.cluster.local"), [c]);
  assert.deepEqual(found("depot/*"), [c, b]);
  assert.deepEqual(found("*/*.depot.svc.cluster.local", "*/b.shop.svc.cluster.local"), [c, b]);
});

test("a host that a Sidecar names exactly is one of its ServiceEntries, by a wildcard all of them", () => {
  const entries = [
    external("old", "x.example", { creationTimeMs: 1 }),
    external("new", "x.example", { creationTimeMs: 2, ports: [aPort("tcp", 90, "TCP")] }),
  ];
  const found = (...hosts: string[]) => visible([...entries, aSidecarWith([{ hosts }])]);
  assert.deepEqual(found("./x.example"), ["x.example:80 shop"]);
  assert.deepEqual(found("./x.example", "./*.other"), ["x.example:80,90 shop"]);
});
