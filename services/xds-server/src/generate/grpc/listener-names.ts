/**
 * The names of listeners that gRPC programs ask for: `host:port` of an `xds:///` target, or a server's own address under a prefix. The
 * answers follow istiod: ports are collected by host, so `web:80` and `web.shop.svc.cluster.local:81` together stand for both names with
 * both ports. A host without a port stands for all of its ports. Source: scenario grpc/routing.
 */
import type { Service, ServicePort } from "@flotilla/model";
import { visibleService, visibleServices } from "../../snapshot/scope/sidecar-scope.ts";
import type { View } from "../../snapshot/view.ts";

const serverPrefix = "xds.istio.io/grpc/lds/inbound/";

/** Address and port of the server that asks; undefined for names of other listeners. */
export function serverAddress(name: string): HostAndPort | undefined {
  if (!name.startsWith(serverPrefix)) return undefined;
  const { host, port } = splitPort(name.slice(serverPrefix.length));
  return port === undefined || !/^\d+$/.test(port) ? undefined : { host, port };
}

interface HostAndPort {
  readonly host: string;
  readonly port: string;
}

/** One port of every service in scope, by the service's host. */
export function allListenerNames(view: View): readonly string[] {
  return visibleServices(view).flatMap(({ hostname, ports }) => ports.map(({ number }) => joinPort(hostname, number)));
}

/** In the order of the services; servers' own names first. */
export function listenerNamesFor(view: View, asked: readonly string[]): readonly string[] {
  const { dnsDomain, namespace } = view.proxy;
  const byHost = new Map<string, { readonly names: Set<string>; readonly ports: Set<string>; allPorts: boolean }>();
  const outbound = asked.filter((name) => !name.startsWith(serverPrefix));
  for (const { host, port } of outbound.map(splitPort)) {
    for (const meant of meanings(host, dnsDomain, namespace)) {
      const known = byHost.get(meant) ?? { names: new Set(), ports: new Set(), allPorts: false };
      byHost.set(meant, known);
      known.names.add(host);
      if (port === undefined) known.allPorts = true;
      else known.ports.add(port);
    }
  }
  const names = new Set(asked.filter((name) => name.startsWith(serverPrefix)));
  for (const [hostname, { names: hosts, ports, allPorts }] of byHost) {
    const served = (visibleService(view, hostname)?.ports ?? []).map(({ number }) => String(number));
    for (const host of hosts)
      for (const port of served) if (allPorts || ports.has(port)) names.add(joinPort(host, port));
  }
  return [...names];
}

/** The service and port that the name of a listener means; undefined when there is none. */
export function outboundPort(
  view: View,
  name: string,
): { readonly service: Service; readonly port: ServicePort } | undefined {
  const { host, port } = splitPort(name);
  for (const meant of meanings(host, view.proxy.dnsDomain, view.proxy.namespace)) {
    const service = visibleService(view, meant);
    const found = service?.ports.find(({ number }) => String(number) === port);
    if (service !== undefined && found !== undefined) return { service, port: found };
  }
  return undefined;
}

/** A host as it is written, and in full if it is a short name in the program's own namespace. */
function meanings(host: string, dnsDomain: string, namespace: string): readonly string[] {
  if (!host.includes(".")) return [host, `${host}.${dnsDomain}`];
  const suffix = [namespace, `${namespace}.svc`].find((one) => host.endsWith(`.${one}`) && dnsDomain.startsWith(one));
  return suffix === undefined ? [host] : [host, `${host.slice(0, -1 - suffix.length)}.${dnsDomain}`];
}

/** IPv6 addresses stand in brackets where a port follows. A name with several colons has no port. */
function splitPort(name: string): { readonly host: string; readonly port: string | undefined } {
  const [, bracketed, plain, port] = /^(?:\[([^[\]]*)\]|([^:[\]]*)):([^:]*)$/.exec(name) ?? [];
  const host = bracketed ?? plain;
  return host === undefined ? { host: name, port: undefined } : { host, port };
}

function joinPort(host: string, port: string | number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
