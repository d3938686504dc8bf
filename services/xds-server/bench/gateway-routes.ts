/**
 * `node services/xds-server/bench/gateway-routes.ts [ROUTES] [CHANGES]`: what a route of the Gateway API costs in the pure core, beside
 * thousands of others of one Gateway, which is sent host by host. CPU for a route that is new, one whose rule changes and one that goes,
 * until every resource of a router is encoded anew.
 */
import { loadavg } from "node:os";
import type { Change, Config } from "@flotilla/model";
import { typeUrl } from "@flotilla/proto";
import type { Resource } from "@flotilla/xds";
import { Core } from "../src/app/core.ts";
import { createCoreSource } from "../src/app/core-source.ts";
import { applyOptionsOf } from "../src/testing/apply-options.ts";
import { aConfig, aPort, aRouter, aService, put } from "../src/testing/mesh.ts";

const [routes, changes] = [process.argv[2] ?? "6000", process.argv[3] ?? "40"].map(Number) as [number, number];
const types = [typeUrl.cluster, typeUrl.listener, typeUrl.scopedRoute];
const proxy = aRouter("infra", { LABELS: { app: "edge" } });

const source = createCoreSource(new Core());
const held = new Map<string, ReadonlyMap<string, Resource>>();
let position = 0;
const edge = aConfig("KubernetesGateway", "infra", "edge", {
  gatewayClassName: "istio",
  listeners: [{ name: "http", port: 80, protocol: "HTTP" }],
});
const deployed = aService("edge-istio", "infra", {
  ports: [aPort("http", 80, "HTTP")],
  labelSelectors: { app: "edge" },
});
const applied = (changes: readonly Change[]) => source.apply(changes, applyOptionsOf(changes, ++position));
applied(
  put(aService("web", "infra"), deployed, edge, ...Array.from({ length: routes }, (_, index) => aRoute(`r-${index}`))),
);
const session = source.open({ proxy, identities: [] }, () => undefined);

const first = measured(() => undefined);
print("routes; CPU for the first answer, ms; scopes", `${routes}; ${first}; ${held.get(typeUrl.scopedRoute)?.size}`);
for (const round of ["cold", "warm"]) {
  const names = Array.from({ length: changes }, (_, index) => `${round}-${index}`);
  print(
    `a new route, ${round}: CPU, ms, p50, p90, most`,
    each(names, (name) => put(aRoute(name))),
  );
  print(
    `a changed rule, ${round}`,
    each(names, (name) => put(aRoute(name, "1"))),
  );
  print(
    `a route that goes, ${round}`,
    each(names, (name) => [{ type: "config", op: "delete", key: aRoute(name).key }]),
  );
}
print("load average", loadavg()[0] ?? 0);

function aRoute(name: string, revision = "0"): Config {
  const set = [{ name: "x-revision", value: revision }];
  return aConfig("HTTPRoute", "infra", name, {
    parentRefs: [{ name: "edge" }],
    hostnames: [`${name}.example`],
    rules: [
      {
        matches: [{ path: { type: "PathPrefix", value: "/" } }],
        filters: [{ type: "ResponseHeaderModifier", responseHeaderModifier: { set } }],
        backendRefs: [{ name: "web", port: 80 }],
      },
    ],
  });
}

function each(names: readonly string[], change: (name: string) => readonly Change[]): string {
  const took = names.map((name) => measured(() => applied(change(name)))).sort((a, b) => a - b);
  return [0.5, 0.9, 1].map((q) => took[Math.min(took.length - 1, Math.floor(took.length * q))]).join(", ");
}

/** Milliseconds of CPU until all that changed is encoded. */
function measured(change: () => void): number {
  const before = process.cpuUsage();
  change();
  for (const type of types) {
    const resources = session.resources(type, undefined)?.byName ?? new Map<string, Resource>();
    const known = held.get(type);
    for (const [name, resource] of resources) {
      const before = known?.get(name);
      if (before === resource || before?.version === resource.version) continue;
      if (resource.bytes.length === 0) throw new Error(`${name} is empty`);
    }
    held.set(type, resources);
  }
  const { user, system } = process.cpuUsage(before);
  return Math.round((user + system) / 10) / 100;
}

function print(name: string, figure: string | number): void {
  process.stdout.write(`${JSON.stringify({ [name]: figure })}\n`);
}
