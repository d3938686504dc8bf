/** Finds the proxy that stands before an endpoint: connected, shown to the caller, and with the endpoint's address among its own. */
import { isIP } from "node:net";
import type { ProxyDetail, ProxyPage } from "@flotilla/console/contract";
import type { Endpoint } from "@flotilla/traffic";
import type { Services } from "../../upstream/services.ts";

/** Proxies whose addresses are looked at. */
const maxCandidates = 20;

/** The name of the proxy; undefined where none is found. */
export async function receiverOf(services: Services, token: string, endpoint: Endpoint): Promise<string | undefined> {
  const address = hostOf(endpoint.address);
  if (address === undefined) return undefined;
  const [workload = "", namespace = ""] = endpoint.workload.split(";");
  const searches = [
    { search: address, limit: "50" },
    ...(namespace === "" ? [] : [{ namespace, search: workload, limit: "50" }]),
    ...(namespace === "" ? [{ limit: "50" }] : [{ namespace, limit: "50" }]),
  ];
  const seen = new Set<string>();
  for (const query of searches) {
    const answer = await services.first<ProxyPage>("xds-server", { path: "/debug/fleet", query, token });
    if (!answer.isAnswered) continue;
    const names = answer.value.rows.map(({ proxy }) => proxy).filter((name) => !seen.has(name));
    for (const name of names) seen.add(name);
    const found = await firstWith(services, { token, address, names: names.slice(0, maxCandidates) });
    if (found !== undefined) return found;
  }
  return undefined;
}

interface Candidates {
  readonly token: string;
  readonly address: string;
  readonly names: readonly string[];
}

async function firstWith(services: Services, { token, address, names }: Candidates): Promise<string | undefined> {
  const answers = await Promise.all(
    names.map((proxyID) =>
      services.first<Pick<ProxyDetail, "metadata">>("xds-server", { path: "/debug/proxy", query: { proxyID }, token }),
    ),
  );
  return names.find((_, index) => {
    const answer = answers[index];
    return answer?.isAnswered === true && addressesOf(answer.value.metadata).includes(address);
  });
}

/** As the proxy reports them of itself. */
export function addressesOf(metadata: ProxyDetail["metadata"]): readonly string[] {
  return (new Map(Object.entries(metadata)).get("INSTANCE_IPS") ?? "").split(",").filter((text) => isIP(text) !== 0);
}

/** Of `ADDRESS:PORT`. */
function hostOf(address: string): string | undefined {
  const [, host = ""] = /^\[?([^[\]]+?)\]?:\d+$/.exec(address) ?? [];
  return isIP(host) === 0 ? undefined : host;
}
