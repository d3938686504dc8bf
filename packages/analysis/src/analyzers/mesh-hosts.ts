/** VirtualServices that claim the same host for calls within the mesh. */
import { compareText, type Hostname, hostsOverlap, isWildcard } from "@flotilla/model";
import { texts } from "@flotilla/validation/field";
import type { Analyzer, Index, Mesh } from "../analyzer.ts";
import { finding } from "../finding.ts";
import { fullName, type MeshObject } from "../mesh-object.ts";
import { exportScopes, fullHost } from "../shared/hosts.ts";

const everywhere = "*";

/** True where the routes apply to calls of sidecars: they do unless only other gateways are named. */
export function isForMesh({ spec }: MeshObject): boolean {
  const gateways = texts(spec, "gateways").map(({ value }) => value);
  return gateways.length === 0 || gateways.includes("mesh");
}

/** VirtualServices of the mesh by the namespaces that see them and their hosts. */
const routesByHost: Index = {
  name: "VirtualServices of the mesh by host",
  kinds: ["VirtualService"],
  keysOf: (service) =>
    isForMesh(service)
      ? exportScopes(service).flatMap((scope) => meshHosts(service).map((host) => `${scope}/${host}`))
      : [],
};

/** Those that are seen in all namespaces, those in some, and those with wildcards among each. */
const routesByScope: Index = {
  name: "VirtualServices of the mesh by scope",
  kinds: ["VirtualService"],
  keysOf: (service) => {
    if (!isForMesh(service)) return [];
    const scope = exportScopes(service).includes(everywhere) ? "public" : "limited";
    return meshHosts(service).some(isWildcard) ? [scope, `${scope} wildcard`] : [scope];
  },
};

/** Those with a limited export by host, for all namespaces that see them. */
const limitedByHost: Index = {
  name: "VirtualServices of some namespaces by host",
  kinds: ["VirtualService"],
  keysOf: (service) => (isForMesh(service) && !exportScopes(service).includes(everywhere) ? meshHosts(service) : []),
};

function meshHosts({ key, spec }: MeshObject): readonly Hostname[] {
  return texts(spec, "hosts").map(({ value }) => fullHost(value, key.namespace));
}

/** The counterpart of istioctl's virtualservice.ConflictingMeshGatewayHostsAnalyzer. */
export const meshHostConflicts: Analyzer = {
  name: "mesh-host-conflicts",
  summary: "VirtualServices that claim the same host for the whole mesh",
  messages: ["ConflictingMeshHosts"],
  checks: ["VirtualService"],
  reads: [],
  indexes: [limitedByHost, routesByHost, routesByScope],
  check: (service, mesh) => {
    if (!isForMesh(service)) return [];
    const scopes = exportScopes(service);
    for (const host of meshHosts(service)) {
      const rivals = new Set(scopes.flatMap((scope) => rivalsFor(host, scope, mesh)));
      rivals.delete(service);
      if (rivals.size === 0) continue;
      const names = [service, ...rivals].map(({ key }) => fullName(key)).sort(compareText);
      const at = texts(service.spec, "hosts").find(({ value }) => fullHost(value, service.key.namespace) === host);
      return [finding("ConflictingMeshHosts", service, at, { virtualServices: names.join(", "), host })];
    }
    return [];
  },
};

/** In one scope equal hosts conflict; hosts of one namespace conflict with all that overlap and are seen everywhere. */
function rivalsFor(host: Hostname, scope: string, mesh: Mesh): readonly MeshObject[] {
  const same = mesh.row(routesByHost, `${scope}/${host}`);
  const other = scope === everywhere ? "limited" : "public";
  const overlaps = (one: MeshObject) => meshHosts(one).some((theirs) => hostsOverlap(theirs, host));
  if (isWildcard(host)) return [...same, ...mesh.row(routesByScope, other).filter(overlaps)];
  const exact = scope === everywhere ? mesh.row(limitedByHost, host) : mesh.row(routesByHost, `${everywhere}/${host}`);
  return [...same, ...exact, ...mesh.row(routesByScope, `${other} wildcard`).filter(overlaps)];
}
