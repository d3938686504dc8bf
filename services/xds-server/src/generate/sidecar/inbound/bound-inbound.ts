/** A listener of its own for a port that the Sidecar opens, or a service has beside it, where nothing is redirected. */
import { isUnsupported } from "@flotilla/model";
import { create, type Duration } from "@flotilla/proto";
import { socketAddress } from "@flotilla/proto/addresses";
import { TrafficDirection } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { type Listener, ListenerSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_pb";
import { httpInspector, tlsInspector } from "../../envoy/listeners/listener-filters.ts";
import { acceptedAtOnce, exactBalance } from "../../envoy/listeners/listener-parts.ts";
import { portChainOptions } from "./chain-options.ts";
import { destinationOf, type InboundChainInputs, inboundChains } from "./inbound-chains.ts";
import type { InboundPort } from "./inbound-ports.ts";

export interface BoundInboundInputs extends InboundChainInputs {
  readonly port: InboundPort;
  readonly detectionTimeout: Duration | undefined;
}

export function buildBoundInbound(inputs: BoundInboundInputs): Listener {
  const { port, detectionTimeout } = inputs;
  const options = portChainOptions(port);
  const extra = port.origin === undefined ? inputs.traits.extraAddresses : [];
  const looksAtTls = options.some(({ transportProtocol }) => transportProtocol === "tls");
  return create(ListenerSchema, {
    name: `${port.address}_${port.port}`,
    trafficDirection: TrafficDirection.INBOUND,
    address: socketAddress(port.address, port.port),
    additionalAddresses: extra.map((address) => ({ address: socketAddress(address, port.port) })),
    accessLog: [...inputs.traits.accessLogs.inbound.listener],
    filterChains: [...inboundChains(inputs, options, destinationOf(port))],
    listenerFilters: [
      ...(looksAtTls ? [tlsInspector({ onlyPorts: [port.port] })] : []),
      ...(isUnsupported(port.protocol) && port.mode !== "STRICT" ? [httpInspector()] : []),
    ],
    listenerFiltersTimeout: detectionTimeout ?? { seconds: 0n, nanos: 0 },
    continueOnListenerFiltersTimeout: true,
    ...acceptedAtOnce(inputs.traits),
    ...(inputs.traits.exactBalance.inbound && { connectionBalanceConfig: exactBalance }),
  });
}
