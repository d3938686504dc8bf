/** LDS of a sidecar: which listeners there are, and what each is made of. */
import { typeUrl } from "@flotilla/proto";
import { type Listener, ListenerSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_pb";
import { inboundMutualTls } from "../../snapshot/scope/authn.ts";
import { query, type View } from "../../snapshot/view.ts";
import { createGenerator } from "../encode/generator.ts";
import { statName } from "../envoy/stat-name.ts";
import { Context } from "../patch/patch.ts";
import { authorizationFilters, tunnelAuthorizationFilters } from "../select/authorization.ts";
import {
  buildTunnelListener,
  isOutsideOfPatches,
  selectTunnelListener,
  type TunnelListenerInputs,
  tunnelListenerNames,
} from "../select/hbone-listeners.ts";
import { listenerTraits } from "../select/listener-traits.ts";
import { meshTls, peerTrustDomains, serverFiles } from "../select/mesh-tls.ts";
import { listenerPatching } from "../select/patching.ts";
import { addsAttemptCount } from "../select/proxy-headers.ts";
import { type BoundInboundInputs, buildBoundInbound } from "./inbound/bound-inbound.ts";
import type { InboundChainInputs } from "./inbound/inbound-chains.ts";
import { type InboundPort, inboundPorts } from "./inbound/inbound-ports.ts";
import { buildMainInternal, type MainInternalInputs } from "./inbound/main-internal.ts";
import { buildVirtualInbound, type UnnamedPort, type VirtualInboundInputs } from "./inbound/virtual-inbound.ts";
import { buildOutboundListener, type OutboundListenerInputs } from "./outbound/build.ts";
import { outboundListener, outboundListeners } from "./outbound/outbound-listeners.ts";
import { buildVirtualOutbound, type VirtualOutboundInputs } from "./virtual-outbound.ts";

type ListenerInputs =
  | ({ readonly kind: "bound-inbound" } & BoundInboundInputs)
  | ({ readonly kind: "outbound" } & OutboundListenerInputs)
  | ({ readonly kind: "main-internal" } & MainInternalInputs)
  | TunnelListenerInputs
  | ({ readonly kind: "virtual-inbound" } & VirtualInboundInputs)
  | ({ readonly kind: "virtual-outbound" } & VirtualOutboundInputs);

export const sidecarListeners = createGenerator<ListenerInputs, Listener>({
  typeUrl: typeUrl.listener,
  schema: ListenerSchema,
  names: (view) => [
    ...view.read(outboundListeners).keys(),
    ...view.read(inboundPorts).filter(isBound).map(boundName),
    ...(capturesTraffic(view) ? ["virtualOutbound", "virtualInbound"] : []),
    ...view.read(tunnelListenerNames),
  ],
  select,
  build,
  patching: listenerPatching("sidecar", (view, name) => {
    if (isOutsideOfPatches(name)) return undefined;
    const isInbound =
      name === "virtualInbound" ||
      name === "main_internal" ||
      view.read(inboundPorts).some((one) => isBound(one) && boundName(one) === name);
    return isInbound ? Context.SIDECAR_INBOUND : Context.SIDECAR_OUTBOUND;
  }),
});

function select(view: View, name: string): ListenerInputs | undefined {
  const traits = view.read(listenerTraits);
  if (name === "virtualOutbound") {
    const { proxyListenPort: listenPort } = view.mesh;
    return { kind: "virtual-outbound", traits, listenPort, addsAttemptCount: view.read(addsAttemptCount) };
  }
  if (name === "virtualInbound") return { kind: "virtual-inbound", ...selectVirtualInbound(view) };
  if (view.read(tunnelListenerNames).includes(name)) return selectTunnel(view, name);
  const port = view.read(inboundPorts).find((one) => isBound(one) && boundName(one) === name);
  if (port !== undefined) {
    return { kind: "bound-inbound", port, detectionTimeout: view.mesh.protocolDetectionTimeout, ...selectChains(view) };
  }
  const plan = view.read(outboundListener, name);
  return plan && { kind: "outbound", traits, plan, detectionTimeout: view.mesh.protocolDetectionTimeout };
}

function selectTunnel(view: View, name: string): ListenerInputs | undefined {
  if (name !== "main_internal") return selectTunnelListener(view, name);
  const authorization = view.read(tunnelAuthorizationFilters);
  const chains = { ...selectChains(view), authorization };
  return { kind: "main-internal", ...chains, ports: view.read(redirectedPorts), addresses: view.proxy.addresses };
}

/** Without redirection nothing would arrive at the virtual listeners. */
function capturesTraffic(view: View): boolean {
  return view.proxy.metadataText("INTERCEPTION_MODE") !== "NONE";
}

function isBound({ bindToPort, hasListener }: InboundPort): boolean {
  return bindToPort && hasListener;
}

function boundName({ address, port }: InboundPort): string {
  return `${address}_${port}`;
}

function selectVirtualInbound(view: View): VirtualInboundInputs {
  return {
    ...selectChains(view),
    listenPort: view.mesh.proxyInboundListenPort,
    ports: view.read(redirectedPorts),
    passthroughStatName: statName(view.mesh.inboundClusterStatName, "", passthroughPort),
    unnamedPorts: view.read(unnamedPorts),
    passthroughMode: view.read(inboundMutualTls).workload,
    detectionTimeout: view.mesh.protocolDetectionTimeout,
  };
}

/** Ports that policies name and neither services nor the Sidecar do, also not one that a listener of its own has. */
const unnamedPorts = query<readonly UnnamedPort[]>(
  "unnamed-ports",
  (view) => {
    const served = view.read(inboundPorts).filter(({ hasListener }) => hasListener);
    const named = new Set(served.map(({ port }) => port));
    return [...view.read(inboundMutualTls).ports]
      .filter(([port]) => !named.has(port))
      .map(([port, mode]) => ({ port, mode }))
      .sort((a, b) => a.port - b.port);
  },
  (a, b) => JSON.stringify(a) === JSON.stringify(b),
);

/** A port without a name leaves most parts of a pattern empty. */
const passthroughPort = { targetPort: "unknown" as const, hostname: "", port: { number: 0, name: "virtualInbound" } };

const redirectedPorts = query<readonly InboundPort[]>("redirected-ports", (view) => {
  return view.read(inboundPorts).filter(({ bindToPort, hasListener }) => !bindToPort && hasListener);
});

function selectChains(view: View): InboundChainInputs {
  return {
    traits: view.read(listenerTraits),
    trustDomains: view.read(peerTrustDomains),
    serverFiles: view.read(serverFiles),
    meshTls: view.read(meshTls),
    tlsDefaults: view.mesh.tlsDefaults,
    compliance: view.feature("compliancePolicy"),
    authorization: view.read(authorizationFilters, ""),
  };
}

function build(inputs: ListenerInputs): Listener {
  switch (inputs.kind) {
    case "bound-inbound":
      return buildBoundInbound(inputs);
    case "main-internal":
      return buildMainInternal(inputs);
    case "tunnel":
      return buildTunnelListener(inputs);
    case "virtual-inbound":
      return buildVirtualInbound(inputs);
    case "virtual-outbound":
      return buildVirtualOutbound(inputs);
    case "outbound":
      return buildOutboundListener(inputs);
  }
}
