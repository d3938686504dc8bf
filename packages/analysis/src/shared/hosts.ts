/** Resolves a host to services, as seen from a namespace. */
import { type Hostname, hostCovers, isWildcard, nearestName, resolveShortName } from "@flotilla/model";
import { field, items, numberOf, texts } from "@flotilla/validation/field";
import type { Index, Mesh } from "../analyzer.ts";
import type { MeshObject } from "../mesh-object.ts";

const everywhere = "*";
const clusterDomain = "cluster.local";

/** `reviews.shop.svc.cluster.local` of `reviews` in namespace shop; other names as they are. */
export function fullHost(host: Hostname, namespace: string): Hostname {
  return isWildcard(host) ? host : resolveShortName(host, namespace, clusterDomain);
}

/** The namespaces that `exportTo` names; `*` for all, as nothing does. */
function scopesOf(exportTo: readonly string[], namespace: string): readonly string[] {
  if (exportTo.length === 0 || exportTo.includes(everywhere)) return [everywhere];
  return [...new Set(exportTo.map((one) => (one === "." ? namespace : one)))];
}

/** `exportTo` of a spec. */
export function exportScopes({ key, spec }: MeshObject): readonly string[] {
  return scopesOf(
    texts(spec, "exportTo").map(({ value }) => value),
    key.namespace,
  );
}

/** Services and ServiceEntries by the namespaces that see them and their hosts: `*\/reviews.shop.svc.cluster.local`. */
const servicesByHost: Index = {
  name: "services by host",
  kinds: ["Service", "ServiceEntry"],
  keysOf: (object) => scopesOfService(object).flatMap((scope) => hostsOf(object).map((host) => `${scope}/${host}`)),
};

/** ServiceEntries with wildcards, by the namespaces that see them. */
const wildcardServices: Index = {
  name: "services with wildcards",
  kinds: ["ServiceEntry"],
  keysOf: (object) => (hostsOf(object).some(isWildcard) ? scopesOfService(object) : []),
};

export const serviceIndexes: readonly Index[] = [servicesByHost, wildcardServices];

function scopesOfService(object: MeshObject): readonly string[] {
  if (object.key.kind === "ServiceEntry") return exportScopes(object);
  const given = object.annotations["networking.istio.io/exportTo"] ?? "";
  return scopesOf(given === "" ? [] : given.split(",").map((one) => one.trim()), object.key.namespace);
}

/** The hosts of a Service or a ServiceEntry. */
function hostsOf({ key, spec }: MeshObject): readonly Hostname[] {
  if (key.kind === "Service") return [`${key.name}.${key.namespace}.svc.${clusterDomain}`];
  return texts(spec, "hosts").map(({ value }) => fullHost(value, key.namespace));
}

/** The numbers of the ports that clients use. */
export function portsOf({ key, spec }: MeshObject): readonly number[] {
  return items(spec, "ports").map((port) => numberOf(field(port, key.kind === "Service" ? "port" : "number")));
}

/** The origin of a host lookup: the namespace of the object that names the host, and the namespaces that the object is exported to. */
export interface HostQuestion {
  readonly host: Hostname;
  readonly namespace: string;
  readonly exportTo: readonly string[];
}

/** The service that a host leads to: a Service before ServiceEntries, exact hosts before wildcards. */
export function serviceOf(mesh: Mesh, { host, namespace, exportTo }: HostQuestion): MeshObject | undefined {
  const name = fullHost(host, namespace);
  const scopes = exportTo.length === 0 ? [namespace] : exportTo.map((one) => (one === "." ? namespace : one));
  for (const scope of [everywhere, ...scopes]) {
    const found = mesh.row(servicesByHost, `${scope}/${name}`);
    if (found.length > 0) return found.find(({ key }) => key.kind === "Service") ?? found[0];
  }
  const wildcards = [everywhere, namespace].flatMap((scope) => mesh.row(wildcardServices, scope));
  return wildcards.find((entry) => hostsOf(entry).some((one) => isWildcard(one) && coversAny(one, host)));
}

/** Another wildcard of the same domain counts as covered. */
function coversAny(wildcard: Hostname, host: Hostname): boolean {
  return hostCovers(wildcard, host) || (isWildcard(host) && host.slice(1).endsWith(wildcard.slice(1)));
}

/** `: is reviews meant?` for a host that nothing has; "" where no host is like it. */
export function hostSuggestion(mesh: Mesh, { host, namespace }: HostQuestion): string {
  const services = mesh.all("Service");
  const hosts = [...services, ...mesh.all("ServiceEntry")].flatMap(hostsOf);
  // Domains are long and alike: how much may differ goes by the first part.
  const letters = host.split(".", 1)[0]?.length ?? 0;
  if (host.includes(".")) return suggestion(nearestName(host, hosts, letters));
  const near = services.filter(({ key }) => key.namespace === namespace).map(({ key }) => key.name);
  const elsewhere = services.find(({ key }) => key.name === host);
  const found = elsewhere === undefined ? nearestName(host, near) : hostsOf(elsewhere)[0];
  return suggestion(found ?? nearestName(fullHost(host, namespace), hosts, letters));
}

export function suggestion(name: string | undefined): string {
  return name === undefined ? "" : `: is ${name} meant?`;
}
