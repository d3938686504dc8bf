/**
 * Problems with objects that services and endpoints are made from; everything else about them goes on. Conflicts of two services over an
 * address, or a port of a host: the first keeps it, and the other is reported.
 */
import { type Config, compareText, isHttp, isIpAddress, parseCidr, type Service } from "@flotilla/model";
import { isValidPort, unspecifiedAddress, wrongPortFields } from "../convert/kubernetes-service.ts";
import type { KubeEndpointSlice, KubePod, KubeService, ServiceEntrySpec, WorkloadEntrySpec } from "../kube.ts";
import { type Objects, podOf, serviceOfSlice, statedAddresses } from "./objects.ts";
import type { RegistryProblem } from "./problem.ts";

type Finding = Omit<RegistryProblem, "object">;

const none: readonly Finding[] = [];

/** Looks at everything: meant for a status page and a timer, not for each change. */
export function findProblems(
  objects: Objects,
  services: Iterable<Service>,
  claims: SharedClaims,
): readonly RegistryProblem[] {
  return [
    ...problemsOf("Service", objects.services, serviceFindingsOnce),
    ...problemsOf("EndpointSlice", objects.slices, (slice) => sliceFindings(slice, objects)),
    ...problemsOf("Pod", objects.pods, podFindingsOnce),
    ...problemsOf("ServiceEntry", objects.serviceEntries, entryFindings),
    ...problemsOf("WorkloadEntry", objects.workloadEntries, workloadFindings),
    ...problemsOf("ServiceImport", objects.serviceImports, importFindings),
    ...claims.problemsOf(services),
  ];
}

function problemsOf<Value>(
  kind: string,
  values: ReadonlyMap<string, Value>,
  findings: (value: Value) => readonly Finding[],
): readonly RegistryProblem[] {
  const problems: RegistryProblem[] = [];
  // An iterator would make an entry for each of some ten thousand pods, each time.
  values.forEach((value, name) => {
    for (const finding of findings(value)) problems.push({ object: `${kind}/${name}`, ...finding });
  });
  return problems;
}

/** Findings that follow from the object alone: of thousands of objects one changes at a time. */
function once<Value extends object>(find: (value: Value) => readonly Finding[]) {
  const known = new WeakMap<Value, readonly Finding[]>();
  return (value: Value): readonly Finding[] => {
    const before = known.get(value);
    if (before !== undefined) return before;
    const found = find(value);
    known.set(value, found.length === 0 ? none : found);
    return found;
  };
}

const serviceFindingsOnce = once(serviceFindings);
const sliceValuesOnce = once(sliceValueFindings);
const podFindingsOnce = once(podFindings);

function serviceFindings({ spec = {}, metadata }: KubeService): readonly Finding[] {
  const selector = metadata.annotations?.["traffic.istio.io/nodeSelector"];
  return [
    ...(spec.ports ?? []).flatMap((port, index) =>
      wrongPortFields(port).map(({ field, value }) => portFinding(`spec.ports[${index}]${field}`, value)),
    ),
    ...clusterAddressFindings(spec),
    ...addressFindings("spec.externalIPs", spec.externalIPs ?? []),
    ...(spec.type === "ExternalName" && !spec.externalName
      ? [{ field: "spec.externalName", reason: "is empty, and the type is ExternalName" }]
      : []),
    ...(selector !== undefined && selector !== "" && !isJsonObject(selector)
      ? [{ field: "metadata.annotations[traffic.istio.io/nodeSelector]", reason: "is no JSON object of labels" }]
      : []),
  ];
}

function clusterAddressFindings({ clusterIP = "", clusterIPs = [] }: NonNullable<KubeService["spec"]>) {
  const isOther = !["", "None", clusterIPs[0]].includes(clusterIP) && !isIpAddress(clusterIP);
  return [
    ...addressFindings(
      "spec.clusterIPs",
      clusterIPs.filter((address) => address !== "None"),
    ),
    ...(isOther ? [{ field: "spec.clusterIP", reason: `"${clusterIP}" is no address` }] : []),
  ];
}

function sliceFindings(slice: KubeEndpointSlice, objects: Objects): readonly Finding[] {
  const service = serviceOfSlice(slice);
  if (service === undefined) {
    return [
      {
        field: "metadata.labels[kubernetes.io/service-name]",
        reason: "is missing: no service can have these endpoints",
      },
    ];
  }
  if (!objects.services.has(service)) return [{ field: "metadata.labels", reason: `there is no Service ${service}` }];
  const namespace = slice.metadata.namespace ?? "";
  const ofPods = (slice.endpoints ?? []).flatMap(({ targetRef }, index) =>
    targetRef?.kind === "Pod" && !objects.pods.has(podOf(targetRef, namespace))
      ? [
          {
            field: `endpoints[${index}].targetRef`,
            reason: `there is no Pod ${targetRef.name}: the endpoint waits for it`,
          },
        ]
      : [],
  );
  return [...sliceValuesOnce(slice), ...ofPods];
}

function sliceValueFindings({ ports = [], endpoints = [], addressType }: KubeEndpointSlice): readonly Finding[] {
  return [
    ...ports.flatMap(({ port = 0 }, index) =>
      port === 0 || isValidPort({ port }) ? [] : [portFinding(`ports[${index}]`, port)],
    ),
    ...endpoints.flatMap(({ addresses = [] }, index) =>
      addressType === "FQDN" ? [] : addressFindings(`endpoints[${index}].addresses`, addresses),
    ),
  ];
}

function podFindings({ status }: KubePod): readonly Finding[] {
  const stated = statedAddresses(status);
  if (stated.length > 0) return stated.every(isIpAddress) ? none : addressFindings("status.podIPs", stated);
  if (status?.phase !== "Running") return none;
  return [{ field: "status.podIP", reason: "is empty, and the pod is running" }];
}

function entryFindings(entry: Config): readonly Finding[] {
  const { hosts = [], addresses = [], ports = [] } = entry.spec as ServiceEntrySpec;
  return [
    ...(hosts.length === 0 ? [{ field: "spec.hosts", reason: "is empty" }] : []),
    ...addresses.flatMap((address, index) =>
      isIpAddress(address) || parseCidr(address) !== undefined
        ? []
        : [{ field: `spec.addresses[${index}]`, reason: `"${address}" is neither an address nor a range` }],
    ),
    ...portFindings(ports.map(({ number }) => number)),
  ];
}

function workloadFindings(entry: Config): readonly Finding[] {
  const { address = "", network = "" } = entry.spec as WorkloadEntrySpec;
  if (address !== "" || network !== "") return [];
  return [{ field: "spec.address", reason: "is empty, and there is no network through which it could be reached" }];
}

function importFindings({ spec }: Config): readonly Finding[] {
  return addressFindings("spec.ips", (spec as { readonly ips?: readonly string[] }).ips ?? []);
}

function portFindings(ports: readonly number[]): readonly Finding[] {
  return ports.flatMap((port, index) => (isValidPort({ port }) ? [] : [portFinding(`spec.ports[${index}]`, port)]));
}

function portFinding(field: string, port: number): Finding {
  return { field, reason: `${port} is no port: must be 1 to 65535` };
}

function addressFindings(field: string, addresses: readonly string[]): readonly Finding[] {
  return addresses.flatMap((address, index) =>
    isIpAddress(address) ? [] : [{ field: `${field}[${index}]`, reason: `"${address}" is no address` }],
  );
}

function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    // Not JSON at all.
    return false;
  }
}

/**
 * Addresses and ports that two services claim, as problems of the one that does not get them. Looked for again only among other services:
 * most changes are of pods and endpoints.
 */
export class SharedClaims {
  #services: readonly Service[] = [];
  #problems: readonly RegistryProblem[] = [];

  problemsOf(services: Iterable<Service>): readonly RegistryProblem[] {
    const all = [...services];
    const known = this.#services;
    if (all.length === known.length && all.every((service, i) => service === known[i])) return this.#problems;
    const sorted = all.toSorted(byClaim);
    [this.#services, this.#problems] = [all, [...sharedAddresses(sorted), ...sharedHosts(sorted)]];
    return this.#problems;
  }
}

/** Kubernetes gives an address once. Of ServiceEntries several may have one, as long as callers can distinguish them. */
function sharedAddresses(services: readonly Service[]): readonly RegistryProblem[] {
  const ofClusters = new Map<string, Service>();
  const ofPorts = new Map<string, Service>();
  const problems: RegistryProblem[] = [];
  const conflict = (service: Service, field: string, claim: string, owner: Service) =>
    problems.push({ object: service.definedBy, field, reason: `${claim} belongs to ${owner.definedBy} already` });
  for (const service of services) {
    for (const [cluster, vips] of Object.entries(service.clusterVips)) {
      for (const vip of vips) {
        if (vip === unspecifiedAddress) continue;
        const owner = ofClusters.get(`${cluster}|${vip}`);
        if (owner !== undefined) conflict(service, "spec.clusterIP", vip, owner);
        else ofClusters.set(`${cluster}|${vip}`, service).set(vip, service);
      }
    }
    if (service.registry !== "External") continue;
    for (const address of ownAddresses(service)) {
      const kubernetes = ofClusters.get(address);
      if (kubernetes !== undefined) conflict(service, "spec.addresses", address, kubernetes);
      for (const { number, protocol } of service.ports) {
        const owner = ofPorts.get(`${address}|${number}`);
        if (owner === undefined) ofPorts.set(`${address}|${number}`, service);
        // HTTP requests name their host.
        else if (owner.hostname !== service.hostname && !(isHttp(protocol) && isHttpAt(owner, number)))
          conflict(service, "spec.addresses", `port ${number} of ${address}`, owner);
      }
    }
  }
  return problems;
}

/** Of two services of one namespace and host with the same port callers see the first's. */
function sharedHosts(services: readonly Service[]): readonly RegistryProblem[] {
  const owners = new Map<string, Service>();
  const problems: RegistryProblem[] = [];
  for (const service of services) {
    for (const { number } of service.ports) {
      const text = `${service.namespace}|${service.hostname}|${number}`;
      const owner = owners.get(text);
      if (owner === undefined) owners.set(text, service);
      // Of other registries one service comes from several places.
      else if (service.registry === "External" && owner.definedBy !== service.definedBy) {
        const reason = `port ${number} of ${service.hostname} belongs to ${owner.definedBy} already`;
        problems.push({ object: service.definedBy, field: "spec.hosts", reason });
      }
    }
  }
  return problems;
}

function ownAddresses({ defaultAddress, addresses = [] }: Service): ReadonlySet<string> {
  const all = [defaultAddress, ...addresses];
  return new Set(all.filter((address) => address !== unspecifiedAddress && !address.includes("/")));
}

function isHttpAt({ ports }: Service, number: number): boolean {
  return ports.some((port) => port.number === number && isHttp(port.protocol));
}

/** ServiceEntries come last, the elder before the younger: so does who has the claim in routes. */
function byClaim(a: Service, b: Service): number {
  const order = Number(a.registry === "External") - Number(b.registry === "External");
  return order || a.creationTimeMs - b.creationTimeMs || compareText(a.definedBy, b.definedBy);
}
