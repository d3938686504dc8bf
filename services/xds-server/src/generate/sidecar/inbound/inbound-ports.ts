/** The ports on which a proxy receives for its workload, one entry a workload port. */

import type { MutualTlsMode } from "@flotilla/model";
import { type ConfigKey, type Protocol, parseProtocol, type ServicePort } from "@flotilla/model";
import type { ServerTLSSettings } from "@flotilla/proto/networking/v1alpha3/gateway_pb";
import { CaptureMode, type IstioIngressListener } from "@flotilla/proto/networking/v1alpha3/sidecar_pb";
import { inboundMutualTls } from "../../../snapshot/scope/authn.ts";
import { targetService } from "../../../snapshot/scope/services.ts";
import { sidecarOf } from "../../../snapshot/scope/sidecar.ts";
import type { ServiceTarget } from "../../../snapshot/subject.ts";
import { query, type View } from "../../../snapshot/view.ts";
import { statName } from "../../envoy/stat-name.ts";
import { listenerTraits } from "../../select/listener-traits.ts";
import { mayListen, mayListenBesideVirtual } from "../reserved-ports.ts";

export interface InboundPort {
  /** The port that callers connect to: the workload's, or one that the Sidecar opens. */
  readonly port: number;
  /** The address part of names and stats. */
  readonly address: string;
  readonly protocol: Protocol;
  readonly mode: MutualTlsMode;
  readonly servicePort: number;
  readonly hostname: string;
  /** By MeshConfig's pattern; empty without one. */
  readonly statName: string;
  /** The same for listeners, which do not have workload ports. */
  readonly listenerStatName: string;
  /** The proxy listens itself, at `address`. */
  readonly bindToPort: boolean;
  /** False where the proxy cannot listen: there is a cluster alone. */
  readonly hasListener: boolean;
  /** TLS that the Sidecar asks for; it counts where the mesh's own is off. */
  readonly ownTls?: ServerTLSSettings;
  /** The Sidecar that names the port, as a path of the Kubernetes API. */
  readonly origin?: string;
}

/** The ports of the Sidecar's ingress listeners, of two with one port the first; without any, those of the workload's services. */
export const inboundPorts = query<readonly InboundPort[]>(
  "inbound-ports",
  (view) => {
    const sidecar = view.read(sidecarOf);
    if (sidecar === undefined || sidecar.spec.ingress.length === 0) return servicePorts(view, { bindToPort: false });
    const own = new Map<number, InboundPort>();
    for (const listener of sidecar.spec.ingress) {
      const port = sidecarPort(view, sidecar.key, listener);
      if (port !== undefined && !own.has(port.port)) own.set(port.port, port);
    }
    const isMerged = view.feature("sidecarInboundListenerMerge");
    const merged = isMerged ? servicePorts(view, { bindToPort: capturesNothing(view) }) : [];
    const all = [...own.values(), ...merged.filter(({ port }) => !own.has(port))];
    return all.sort((a, b) => a.port - b.port);
  },
  (a, b) => JSON.stringify(a) === JSON.stringify(b),
);

/**
 * Ordered by workload port. Of several services on one workload port the first counts. A proxy that captures nothing listens itself; without a
 * Sidecar it has no listener, as the workload holds the services' ports.
 */
function servicePorts(view: View, { bindToPort }: { readonly bindToPort: boolean }): readonly InboundPort[] {
  const modes = view.read(inboundMutualTls);
  const address = view.read(listenerTraits).wildcardAddress;
  const ports = new Map<number, InboundPort>();
  for (const target of view.proxy.targets) {
    const service = targetService(view, target);
    const port = service?.ports.find(({ number, name }) => number === target.port && name === target.portName);
    if (port === undefined) continue;
    const taken = ports.get(target.targetPort);
    if (taken !== undefined) {
      reportConflict(view, target, port, taken);
      continue;
    }
    const mode = modes.ports.get(target.targetPort) ?? modes.workload;
    const { hostname, targetPort } = target;
    const { protocol, number: servicePort } = port;
    const pattern = view.mesh.inboundClusterStatName;
    const stat = statName(pattern, "", { hostname, service, port, targetPort });
    const listenerStat = statName(pattern, "", { hostname, service, port, targetPort: "unknown" });
    const hasListener = mayListenBesideVirtual(view, { bind: address, port: targetPort, protocol, bindToPort });
    const place = { port: targetPort, address, servicePort, hostname, bindToPort, hasListener };
    ports.set(targetPort, { ...place, protocol, mode, statName: stat, listenerStatName: listenerStat });
  }
  return [...ports.values()].sort((a, b) => a.port - b.port);
}

export function capturesNothing({ proxy }: View): boolean {
  return proxy.metadataText("INTERCEPTION_MODE") === "NONE";
}

function sidecarPort(
  view: View,
  { namespace, name }: ConfigKey,
  { port, bind, captureMode, tls }: IstioIngressListener,
): InboundPort | undefined {
  if (port === undefined) return undefined;
  const modes = view.read(inboundMutualTls);
  const bindToPort = captureMode === CaptureMode.DEFAULT ? capturesNothing(view) : captureMode === CaptureMode.NONE;
  // Redirected connections are distinguished by port alone; the proxy's own address only names them.
  const [ownAddress = ""] = bind === "" ? view.proxy.addresses : [];
  return {
    port: port.number,
    address: bind === "" ? ownAddress : bind,
    ...ownTlsOf(parseProtocol(port.protocol), view.feature("tlsOnSidecarIngress") ? tls : undefined),
    mode: modes.ports.get(port.number) ?? modes.workload,
    servicePort: port.number,
    hostname: `${name}.${namespace}`,
    statName: statName(view.mesh.inboundClusterStatName, "", {
      ...statServiceOf(view, port.number, `${name}.${namespace}`),
      port,
      targetPort: port.number,
    }),
    listenerStatName: statName(view.mesh.inboundClusterStatName, "", {
      hostname: `${name}.${namespace}`,
      port,
      targetPort: "unknown",
    }),
    bindToPort,
    hasListener: mayListen(view, { bind, port: port.number, protocol: parseProtocol(port.protocol), bindToPort }),
    origin: `/apis/networking.istio.io/v1/namespaces/${namespace}/sidecar/${name}`,
  };
}

/** The first service that the workload serves on the port, which the cluster's statistics are named after; otherwise the Sidecar. */
function statServiceOf(view: View, targetPort: number, sidecar: string) {
  const target = view.proxy.targets.find((one) => one.targetPort === targetPort);
  const service = target && targetService(view, target);
  return service === undefined ? { hostname: sidecar } : { hostname: service.hostname, service };
}

/** Requests that arrive over HTTPS are HTTP once the sidecar has terminated the TLS. */
function ownTlsOf(protocol: Protocol, ownTls: ServerTLSSettings | undefined) {
  return ownTls === undefined ? { protocol } : { protocol: protocol === "HTTPS" ? "HTTP" : protocol, ownTls };
}

function reportConflict(view: View, target: ServiceTarget, port: ServicePort, taken: InboundPort): void {
  if (port.protocol === taken.protocol) return;
  view.report({
    metric: "pilot_conflict_inbound_listener",
    object: target.hostname,
    message: `port ${target.targetPort} is ${taken.protocol} for ${taken.hostname} already, ${port.protocol} is left out`,
  });
}
