/** Hosts of VirtualServices of the mesh: services have them, and the same namespace as the VirtualService. */
import { isWildcard } from "@flotilla/model";
import { texts } from "@flotilla/validation/field";
import type { Analyzer, Mesh } from "../analyzer.ts";
import { type Finding, finding } from "../finding.ts";
import type { MeshObject } from "../mesh-object.ts";
import { exportScopes, hostSuggestion, serviceIndexes, serviceOf } from "../shared/hosts.ts";
import { rootNamespace } from "../shared/settings.ts";
import { isForMesh } from "./mesh-hosts.ts";

/** istioctl has no such analyzer: it checks destinations of routes alone. */
export const claimedHosts: Analyzer = {
  name: "claimed-hosts",
  summary: "VirtualServices of the mesh for hosts that no service has, or one of another namespace",
  messages: ["HostWithoutService", "HostOfOtherNamespace"],
  checks: ["VirtualService"],
  reads: ["MeshConfig", "Service", "ServiceEntry"],
  indexes: serviceIndexes,
  check: (route, mesh) =>
    isForMesh(route)
      ? texts(route.spec, "hosts")
          .filter(({ value }) => !isWildcard(value))
          .flatMap((at) => hostFindings(route, at, mesh))
      : [],
};

function hostFindings(route: MeshObject, at: ReturnType<typeof texts>[number], mesh: Mesh): readonly Finding[] {
  const { namespace } = route.key;
  const exportTo = texts(route.spec, "exportTo").map(({ value }) => value);
  const question = { host: at.value, namespace, exportTo };
  const service = serviceOf(mesh, question);
  if (service === undefined)
    return [finding("HostWithoutService", route, at, { host: at.value, suggestion: hostSuggestion(mesh, question) })];
  const owner = service.key.namespace;
  // The root namespace is that of the mesh's administrators, whose rules are for all.
  if (owner === namespace || namespace === rootNamespace(mesh)) return [];
  const others = exportScopes(route).filter((scope) => scope !== namespace);
  if (others.length === 0) return [];
  const callers = others.includes("*") ? "all namespaces" : `namespaces ${others.join(", ")}`;
  return [finding("HostOfOtherNamespace", route, at, { host: at.value, owner, callers })];
}
