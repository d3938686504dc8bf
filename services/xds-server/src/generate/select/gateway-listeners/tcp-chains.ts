/** Filter chains of servers without HTTP: TCP, TLS that ends here, TLS that passes through, mutual TLS of other networks. */
import { hasGatewaySemantics } from "@flotilla/gateway-api";
import type { Config } from "@flotilla/model";
import { hostCovers, hostsOverlap, sniName } from "@flotilla/model";
import { ServerTLSSettings_TLSmode as TlsMode } from "@flotilla/proto/networking/v1alpha3/gateway_pb";
import type { VirtualService } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import { destinationRuleOf } from "../../../snapshot/scope/destination-rules.ts";
import { virtualServicesOf } from "../../../snapshot/scope/gateway-heads.ts";
import {
  type GatewayName,
  type GatewayServer,
  passesTlsThrough,
  serverHost,
} from "../../../snapshot/scope/gateway-merge.ts";
import { visibleServices } from "../../../snapshot/scope/sidecar-scope.ts";
import { unknownDestinations, virtualService } from "../../../snapshot/scope/virtual-service.ts";
import type { View } from "../../../snapshot/view.ts";
import { tcpPolicy } from "../tcp-policy.ts";
import { outboundStatName, tcpRoute } from "../tcp-route.ts";
import { type GatewayTcpChain, protocolOf, serverNames } from "./plan.ts";

export function tcpChains(view: View, server: GatewayServer): readonly GatewayTcpChain[] {
  const { tls } = server.server;
  if (tls?.mode === TlsMode.AUTO_PASSTHROUGH) return meshChains(view, server);
  return passesTlsThrough(tls) ? tlsRouteChains(view, server) : tcpRouteChain(view, server);
}

/**
 * The first TCP route for the server's port. A TLSRoute of the Gateway API counts too: behind a server that ends the TLS itself it leads
 * to TCP.
 */
function tcpRouteChain(view: View, gatewayServer: GatewayServer): readonly GatewayTcpChain[] {
  const { gateway, server } = gatewayServer;
  const number = server.port?.number ?? 0;
  const isOwn = (match: Layer4Match): boolean => isFor(match, number, gateway);
  for (const { key, annotations, spec } of boundVirtualServices(view, gatewayServer)) {
    const tlsRoutes = server.tls !== undefined && hasGatewaySemantics(annotations) ? spec.tls : [];
    const route =
      spec.tcp.find(({ match }) => match.length === 0 || match.some(isOwn)) ??
      tlsRoutes.find(({ match }) => match.some(isOwn));
    if (route === undefined) continue;
    return [
      {
        carries: "tcp",
        serverNames: server.tls === undefined ? [] : serverNames(gatewayServer),
        tls: server.tls,
        protocol: protocolOf(gatewayServer),
        isOfMesh: false,
        ...tcpRoute(view, key, route.route, { number, service: undefined, name: server.port?.name }),
      },
    ];
  }
  return [];
}

/** A chain for each match of a TLS route; a name that is routed already stays where it is. */
function tlsRouteChains(view: View, gatewayServer: GatewayServer): readonly GatewayTcpChain[] {
  const { gateway, server } = gatewayServer;
  const number = server.port?.number ?? 0;
  const taken = new Set<string>();
  return boundVirtualServices(view, gatewayServer).flatMap(({ key, spec }) =>
    spec.tls.flatMap(({ match, route }) =>
      match
        .filter((one) => isFor(one, number, gateway))
        .filter(({ sniHosts }) => takeAll(taken, sniHosts))
        .map(
          ({ sniHosts }): GatewayTcpChain => ({
            carries: "tcp",
            serverNames: sniHosts.includes("*") ? [] : sniHosts.toSorted(),
            tls: undefined,
            protocol: protocolOf(gatewayServer),
            isOfMesh: false,
            ...tcpRoute(view, key, route, { number, service: undefined, name: server.port?.name }),
          }),
        ),
    ),
  );
}

/** False when one of the names was taken before; the others are taken all the same, as istiod does it. */
function takeAll(taken: Set<string>, names: readonly string[]): boolean {
  const areFree = names.every((name) => !taken.has(name));
  for (const name of names) taken.add(name);
  return areFree;
}

interface Layer4Match {
  readonly port: number;
  readonly gateways: readonly string[];
}

function isFor({ port, gateways }: Layer4Match, number: number, gateway: GatewayName): boolean {
  return (port === 0 || port === number) && (gateways.length === 0 || gateways.includes(gateway));
}

/** The VirtualServices with TCP or TLS routes that share a host with a server, in order of precedence. */
function boundVirtualServices(view: View, { gateway, hosts }: GatewayServer): readonly Config<VirtualService>[] {
  return virtualServicesOf(view, gateway, "layer-4")
    .filter((head) =>
      hosts.some((text) => {
        const { namespace = head.namespace, host } = serverHost(text);
        return namespace === head.namespace && head.hosts.some((other) => hostsOverlap(host, other));
      }),
    )
    .flatMap(({ name }) => {
      view.read(unknownDestinations, name);
      return view.read(virtualService, name) ?? [];
    });
}

/** A chain for each service of the mesh by the server name that proxies of other networks ask for. */
function meshChains(view: View, gatewayServer: GatewayServer): readonly GatewayTcpChain[] {
  const hosts = serverNames(gatewayServer);
  const services = visibleServices(view).filter(
    ({ hostname, meshExternal }) =>
      !meshExternal && (hosts.length === 0 || hosts.some((host) => hostCovers(host, hostname))),
  );
  return services.flatMap((service) => {
    const subsets = ["", ...(destinationRuleOf(view, service)?.spec.subsets ?? []).map(({ name }) => name)];
    return service.ports
      .filter(({ protocol }) => protocol !== "UDP")
      .flatMap(({ number, protocol }) =>
        subsets.map((subset): GatewayTcpChain => {
          const cluster = sniName("outbound", number, subset, service.hostname);
          const destination = { host: service.hostname, subset };
          // A tunnel begins at the proxy that opened the TLS.
          const { tunnel: _, ...policy } = tcpPolicy(view, destination);
          return {
            carries: "tcp",
            serverNames: [cluster],
            tls: undefined,
            clusters: cluster,
            statPrefix: outboundStatName(view, { number, service }, cluster, destination),
            protocol,
            policy,
            isOfMesh: true,
          };
        }),
      );
  });
}
