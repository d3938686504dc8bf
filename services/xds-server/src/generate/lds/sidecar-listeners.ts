/** LDS of a sidecar: which listeners there are, and what each is made of. */
import { typeUrl } from "@flotilla/proto";
import type { Listener } from "@flotilla/proto/envoy/config/listener/v3/listener_pb";
import { ListenerSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_pb";
import { TlsParameters_TlsProtocol } from "@flotilla/proto/envoy/extensions/transport_sockets/tls/v3/common_pb";
import { inboundMutualTls } from "../../snapshot/scope/authn.ts";
import { query, type View } from "../../snapshot/view.ts";
import { createGenerator } from "../generator.ts";
import { inboundPorts } from "./inbound/inbound-ports.ts";
import { buildVirtualInbound, type VirtualInboundInputs } from "./inbound/virtual-inbound.ts";
import { listenerTraits } from "./traits.ts";
import { buildVirtualOutbound, type VirtualOutboundInputs } from "./virtual-outbound.ts";

type ListenerInputs =
  | ({ readonly kind: "virtual-inbound" } & VirtualInboundInputs)
  | ({ readonly kind: "virtual-outbound" } & VirtualOutboundInputs);

export const sidecarListeners = createGenerator<ListenerInputs, Listener>({
  typeUrl: typeUrl.listener,
  schema: ListenerSchema,
  names: () => ["virtualOutbound", "virtualInbound"],
  select,
  build,
});

function select(view: View, name: string): ListenerInputs | undefined {
  const traits = view.read(listenerTraits);
  if (name === "virtualOutbound") return { kind: "virtual-outbound", traits, listenPort: view.mesh.proxyListenPort };
  if (name === "virtualInbound") return { kind: "virtual-inbound", ...selectVirtualInbound(view) };
  return undefined;
}

function selectVirtualInbound(view: View): VirtualInboundInputs {
  return {
    traits: view.read(listenerTraits),
    listenPort: view.mesh.proxyInboundListenPort,
    ports: view.read(inboundPorts),
    passthroughMode: view.read(inboundMutualTls).workload,
    trustDomains: view.read(trustDomains),
    minimumTlsVersion: TlsParameters_TlsProtocol.TLSv1_2,
    detectionTimeout: view.mesh.protocolDetectionTimeout,
    httpFilters: noFilters,
  };
}

const noFilters = { early: [], late: [] };

const trustDomains = query<readonly string[]>("trust-domains", ({ mesh }) => [
  ...new Set([mesh.trustDomain, ...mesh.trustDomainAliases]),
]);

function build(inputs: ListenerInputs): Listener {
  return inputs.kind === "virtual-inbound" ? buildVirtualInbound(inputs) : buildVirtualOutbound(inputs);
}
