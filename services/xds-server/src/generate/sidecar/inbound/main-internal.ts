/** The listener within HBONE tunnels to the workload: as the one for redirected connections, without TLS of its own. */
import { isHttp, isIpv6, isUnsupported, type Protocol } from "@flotilla/model";
import { create } from "@flotilla/proto";
import { CidrRangeSchema } from "@flotilla/proto/envoy/config/core/v3/address_pb";
import { TrafficDirection } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import type { FilterChain } from "@flotilla/proto/envoy/config/listener/v3/listener_components_pb";
import { type Listener, ListenerSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_pb";
import { httpInspector, originalDestination } from "../../envoy/listeners/listener-filters.ts";
import type { ChainOption } from "./chain-options.ts";
import { destinationOf, type InboundChainInputs, type InboundDestination, inboundChains } from "./inbound-chains.ts";
import type { InboundPort } from "./inbound-ports.ts";

export interface MainInternalInputs extends InboundChainInputs {
  readonly ports: readonly InboundPort[];
  /** The workload's own: a tunnel may ask for others. */
  readonly addresses: readonly string[];
}

export function buildMainInternal(inputs: MainInternalInputs): Listener {
  const { ports, traits } = inputs;
  // The opener of the tunnel has identified itself there: peers exchange nothing with requests at known ports, but do with connections, as in istiod.
  const known = { ...inputs, isWithinTunnel: true, traits: { ...traits, httpMetadata: false } };
  const cluster = "InboundPassthroughCluster";
  const unknown: InboundDestination = {
    name: "virtualInbound",
    cluster,
    statPrefix: cluster,
    tcpStatPrefix: cluster,
  };
  const chains = [
    ...ports.flatMap((port) => inboundChains(known, optionsOf(inputs, port.protocol), destinationOf(port))),
    ...inboundChains(inputs, optionsOf(inputs, "Unsupported"), unknown),
  ];
  for (const chain of chains) addRanges(chain, inputs.addresses);
  const sure = ports.filter(({ protocol }) => !isUnsupported(protocol)).map(({ port }) => port);
  return create(ListenerSchema, {
    name: "main_internal",
    trafficDirection: TrafficDirection.INBOUND,
    accessLog: [...traits.accessLogs.inbound.listener],
    listenerSpecifier: { case: "internalListener", value: {} },
    listenerFilters: [originalDestination, httpInspector({ skipPorts: [...sure].sort((a, b) => a - b) })],
    filterChains: chains,
    continueOnListenerFiltersTimeout: true,
  });
}

function optionsOf({ traits }: InboundChainInputs, protocol: Protocol): readonly ChainOption[] {
  if (!isUnsupported(protocol)) return [{ carries: isHttp(protocol) ? "http" : "tcp", tls: false }];
  return [
    { carries: "http", tls: false, applicationProtocols: traits.plainHttpProtocols },
    { carries: "tcp", tls: false },
  ];
}

function addRanges({ filterChainMatch }: FilterChain, addresses: readonly string[]): void {
  if (filterChainMatch === undefined) return;
  filterChainMatch.prefixRanges = addresses.map((addressPrefix) =>
    create(CidrRangeSchema, { addressPrefix, prefixLen: isIpv6(addressPrefix) ? 128 : 32 }),
  );
}
