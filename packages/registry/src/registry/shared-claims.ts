/** What two services claim both: an address, or a port of a host. The first keeps it, and the other is reported. */
import { compareText, isHttp, type Service } from "@flotilla/model";
import { unspecifiedAddress } from "../convert/kubernetes-service.ts";
import type { RegistryProblem } from "./problem.ts";

/** Addresses and ports that two services claim, as problems of the one that does not get them. */
export function sharedClaims(services: Iterable<Service>): readonly RegistryProblem[] {
  const all = [...services].sort(byClaim);
  return [...sharedAddresses(all), ...sharedHosts(all)];
}

/** Kubernetes gives an address once. Of ServiceEntries several may have one, as long as callers can distinguish them. */
function sharedAddresses(services: readonly Service[]): readonly RegistryProblem[] {
  const ofClusters = new Map<string, Service>();
  const ofPorts = new Map<string, Service>();
  const problems: RegistryProblem[] = [];
  const say = (service: Service, field: string, claim: string, owner: Service) =>
    problems.push({ object: service.definedBy, field, reason: `${claim} belongs to ${owner.definedBy} already` });
  for (const service of services) {
    for (const [cluster, vips] of Object.entries(service.clusterVips)) {
      for (const vip of vips) {
        if (vip === unspecifiedAddress) continue;
        const owner = ofClusters.get(`${cluster}|${vip}`);
        if (owner !== undefined) say(service, "spec.clusterIP", vip, owner);
        else ofClusters.set(`${cluster}|${vip}`, service).set(vip, service);
      }
    }
    if (service.registry !== "External") continue;
    for (const address of ownAddresses(service)) {
      const kubernetes = ofClusters.get(address);
      if (kubernetes !== undefined) say(service, "spec.addresses", address, kubernetes);
      for (const { number, protocol } of service.ports) {
        const owner = ofPorts.get(`${address}|${number}`);
        if (owner === undefined) ofPorts.set(`${address}|${number}`, service);
        // HTTP says which host it means.
        else if (owner.hostname !== service.hostname && !(isHttp(protocol) && isHttpAt(owner, number)))
          say(service, "spec.addresses", `port ${number} of ${address}`, owner);
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
