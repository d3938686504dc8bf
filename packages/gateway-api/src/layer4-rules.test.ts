/** Server names of TLSRoutes: what a listener and a route have in common. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { tcpRoutes, tlsRoutes } from "./layer4-rules.ts";
import type { ListenerPlan } from "./listener-plan.ts";
import { attachRoute } from "./route-attachments.ts";
import { routeHead } from "./route-head.ts";

const key = { kind: "TLSRoute", namespace: "shop", name: "r" };
const rules = [{ backendRefs: [{ name: "db", port: 443 }] }];
const context = { namespace: "shop", domain: "cluster.local", hasService: () => true };

/** The server names of a route with these hostnames, at a listener with that one. */
function namesAt(hostname: string, hostnames: readonly string[]): readonly string[] {
  const spec = { parentRefs: [{ name: "g" }], hostnames, rules };
  const listener = {
    ...{ owner: { kind: "KubernetesGateway", namespace: "shop", name: "g" }, name: "tls", port: 443, hostname },
    ...{ namespaces: ["*"], kinds: ["TLSRoute"] },
  } as unknown as ListenerPlan;
  const config = { key, labels: {}, annotations: {}, creationTimeMs: 0, spec: routeHead(key, spec) };
  const [parent] = attachRoute(config, { listenersOf: () => [listener], hostsOf: () => undefined });
  const hosts = parent?.attachments[0]?.hosts ?? [];
  const [route] = tlsRoutes(spec, { hosts, port: 0, isMesh: false }, context);
  return route?.match[0]?.sniHosts ?? [];
}

const cases: readonly (readonly [listener: string, route: readonly string[], names: readonly string[]])[] = [
  ["*.example.com", ["a.example.com"], ["a.example.com"]],
  ["*.example.com", ["*.com"], ["*.example.com"]],
  ["*.example.com", ["*.com", "a.example.com"], ["*.example.com", "a.example.com"]],
  ["*.example.com", ["*.com", "*.example.com"], ["*.example.com"]],
  ["a.example.com", ["*.example.com"], ["a.example.com"]],
  ["*.example.com", ["a.example.org"], []],
  ["*.example.com", [], ["*.example.com"]],
  ["", ["*.com"], ["*.com"]],
];

describe("server names of a TLSRoute", () => {
  for (const [listener, route, names] of cases)
    it(`at ${listener || "any name"} with ${route.join(" and ") || "none"} are ${names.join(" and ") || "none"}`, () =>
      assert.deepEqual(namesAt(listener, route), names));
});

describe("server names of a TLSRoute within the mesh", () => {
  const namesOf = (hostnames: readonly string[], hosts: readonly string[]) =>
    tlsRoutes({ hostnames, rules }, { hosts, port: 0, isMesh: true }, context)[0]?.match[0]?.sniHosts;
  for (const [name, hostnames, hosts, names] of [
    ["are its parent's hosts where it has none", [], ["db.shop.svc"], ["db.shop.svc"]],
    ["are the only one that it has", ["a.example"], ["db.shop.svc"], ["a.example"]],
    ["are those of several that are the parent's", ["a.example", "db.shop.svc"], ["*.shop.svc"], ["db.shop.svc"]],
  ] as const)
    it(name, () => assert.deepEqual(namesOf(hostnames, hosts), names));
});

describe("routes of connections", () => {
  const text = (backendRefs: readonly object[], port = 0) =>
    tcpRoutes({ rules: [{ backendRefs }] }, port, context).map(
      ({ match, route }) =>
        `${match.map((one) => one.port)}: ${route
          .map(({ destination: to, weight }) => `${to?.host}:${to?.port?.number} ${to?.subset}/${weight}`)
          .join(", ")}`,
    );
  for (const [name, refs, port, want] of [
    ["one back end for all ports", [{ name: "db", port: 5432 }], 0, ": db.shop.svc.cluster.local:5432 /0"],
    ["the port of their parent", [{ name: "db", port: 5432 }], 80, "80: db.shop.svc.cluster.local:5432 /0"],
    [
      "several back ends by weight",
      [
        { name: "a", port: 1, weight: 3 },
        { name: "b", port: 2 },
      ],
      0,
      ": a.shop.svc.cluster.local:1 /3, b.shop.svc.cluster.local:2 /1",
    ],
    [
      "no back end with traffic",
      [{ name: "a", port: 1, weight: 0 }],
      0,
      ": internal.cluster.local:65535 zero-weight/0",
    ],
  ] as const)
    it(`have ${name}`, () => assert.deepEqual(text(refs, port), [want]));
  it("have none without rules", () => assert.deepEqual(tcpRoutes({}, 80, context), []));
});
