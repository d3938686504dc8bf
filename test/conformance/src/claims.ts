/** The project's claims to send the same as istiod, and the numbers of the parts that it does not claim. */
import { ownValue } from "@flotilla/model";
import type { ScenarioResult } from "./scenarios/run.ts";
import type { Scenario, ScenarioProxy } from "./scenarios/scenario.ts";

const sidecarGroups: readonly string[] = [
  "ambient",
  "services",
  "serviceentry",
  "virtualservice",
  "destinationrule",
  "sidecar-resource",
  "locality",
  "mesh",
  "large",
  "security",
  "telemetry",
  "extensions",
  "gateway-api",
  "gateways",
  "envoyfilter",
];

/** The groups of which a type of proxy receives what istiod sends, resource by resource. */
const claimedGroups: Readonly<Record<string, ReadonlySet<string>>> = {
  sidecar: new Set(sidecarGroups),
  router: new Set([
    ...[
      "ambient",
      "envoyfilter",
      "extensions",
      "gateway-api",
      "gateways",
      "ingress",
      "large",
      "locality",
      "mesh",
      "security",
    ],
    ...["serviceentry", "virtualservice"],
  ]),
  grpc: new Set(["grpc", "sidecar-resource"]),
  waypoint: new Set(["ambient", "destinationrule"]),
  ztunnel: new Set(["ambient", "locality"]),
};

export function isClaimed({ group }: Scenario, { type }: ScenarioProxy): boolean {
  return ownValue(claimedGroups, type)?.has(group) === true;
}

export interface Unclaimed {
  readonly scenarios: number;
  readonly proxies: number;
  readonly equal: number;
  readonly total: number;
}

/** By proxy type. A scenario that fails has nothing identical; its expected resources count. */
export function summarizeUnclaimed(results: readonly ScenarioResult[]): Readonly<Record<string, Unclaimed>> {
  const byType: Record<string, Unclaimed> = {};
  for (const { scenario, resources } of results) {
    const unclaimed = scenario.proxies.filter((proxy) => !isClaimed(scenario, proxy));
    for (const type of new Set(unclaimed.map((proxy) => proxy.type))) {
      const names = new Set(unclaimed.filter((proxy) => proxy.type === type).map(({ name }) => name));
      const sum = byType[type] ?? { scenarios: 0, proxies: 0, equal: 0, total: 0 };
      byType[type] = {
        scenarios: sum.scenarios + 1,
        proxies: sum.proxies + names.size,
        equal: sum.equal + resources.filter(({ proxy, outcome }) => names.has(proxy) && outcome === "equal").length,
        total: sum.total + expectedCount(scenario, names),
      };
    }
  }
  return byType;
}

function expectedCount({ stages }: Scenario, proxies: ReadonlySet<string>): number {
  const captures = stages.flatMap(({ expected }) => [...proxies].map((proxy) => expected.get(proxy)));
  return captures.flatMap((capture) => [...(capture?.values() ?? [])]).reduce((sum, { size }) => sum + size, 0);
}

export function printUnclaimed(unclaimed: Readonly<Record<string, Unclaimed>>, write: (line: string) => void): void {
  if (Object.keys(unclaimed).length > 0) write("not claimed, by type of proxy:");
  for (const [type, { scenarios, proxies, equal, total }] of Object.entries(unclaimed).sort())
    write(`${type.padEnd(20)} identical: ${equal}/${total}  proxies: ${proxies}  scenarios: ${scenarios}`);
}
