/**
 * The Gateways of a router, merged: which of them select it, the workload's ports that their servers mean, and the listeners and
 * route configurations that follow (gateway-merge.ts).
 */
import { type Config, compareByAge, ownValue } from "@flotilla/model";
import type { Gateway } from "@flotilla/proto/networking/v1alpha3/gateway_pb";
import type { RowIndex } from "../row-index.ts";
import type { ServiceTarget } from "../subject.ts";
import { query, type View } from "../view.ts";
import {
  type GatewayName,
  type GatewayServer,
  gatewayName,
  type MergedGateways,
  mergeGateways,
  type PlacedServer,
} from "./gateway-merge.ts";
import { ingressGateways } from "./ingresses.ts";
import { listenerGateways } from "./kubernetes-gateways.ts";
import { targetService } from "./services.ts";

/** Names the services, by host and separated by commas, whose workloads a Gateway is for instead of a selector. */
const serviceAnnotation = "internal.istio.io/gateway-service";
const sameNumbersLabel = "experimental.istio.io/disable-gateway-port-translation";

/** Of a ListenerSet's Gateway: the services are those of its parent's namespace. */
const parentNamespaceAnnotation = "internal.istio.io/parent-namespace";

/** Of Gateways of the Gateway API, and of those of them that a workload is deployed for. */
const semanticsAnnotation = "internal.istio.io/gateway-semantics";
const accountAnnotation = "internal.istio.io/service-account-name";

interface GatewayHead {
  readonly name: GatewayName;
  readonly namespace: string;
  /** Of the services. */
  readonly servicesNamespace: string;
  readonly selector: Readonly<Record<string, string>>;
  readonly services: readonly string[] | undefined;
  readonly origin: "istio" | "gateway-api" | "deployed";
}

/** Heads of all Gateways in one row: servers change without touching the selection. */
export const gatewayIndex: RowIndex<Gateway> = {
  name: "gateway-heads",
  kind: "Gateway",
  keysOf: () => ["all"],
  project: (config) => headConfig(config),
};

function headConfig({ key, creationTimeMs, annotations, spec }: Config<Gateway>): Config<GatewayHead> {
  const services = ownValue(annotations, serviceAnnotation);
  return {
    key,
    creationTimeMs,
    labels: {},
    annotations: {},
    spec: {
      name: gatewayName.write(key),
      namespace: key.namespace,
      servicesNamespace: ownValue(annotations, parentNamespaceAnnotation) ?? key.namespace,
      selector: spec.selector,
      services: services?.split(","),
      origin: originOf(annotations),
    },
  };
}

function originOf(annotations: Config["annotations"]): GatewayHead["origin"] {
  if (ownValue(annotations, semanticsAnnotation) !== "gateway") return "istio";
  return (ownValue(annotations, accountAnnotation) ?? "") === "" ? "gateway-api" : "deployed";
}

/** The Gateways that select the proxy, oldest first. One without a selector is for every router. */
export const selectedGateways = query<readonly GatewayHead[]>("selected-gateways", (view) => {
  const written = view.row(gatewayIndex as RowIndex<unknown> as RowIndex<GatewayHead>, "all");
  const heads = [...written, ...view.read(derivedGatewayHeads)].sort(compareByAge).map(({ spec }) => spec);
  const within = view.feature("scopeGatewayToNamespace")
    ? heads.filter(({ namespace }) => namespace === view.proxy.namespace)
    : heads;
  const selecting = new Set(view.proxy.selecting(within.filter(isSelecting), ({ selector }) => selector));
  const selected = within.filter((head) => selecting.has(head) || targetsOf(view, head).length > 0);
  return view.feature("strictGatewayMerging") ? withoutForeign(view, selected) : selected;
});

/**
 * A workload that is deployed for Gateways of the Gateway API must not serve, nor fetch credentials for, what another namespace wrote.
 * Source: istiod, PILOT_ENABLE_STRICT_GATEWAY_MERGING.
 */
function withoutForeign(view: View, heads: readonly GatewayHead[]): readonly GatewayHead[] {
  const namespaces = new Set(heads.flatMap(({ origin, namespace }) => (origin === "deployed" ? [namespace] : [])));
  if (namespaces.size === 0) return heads;
  return heads.filter(({ origin, namespace, name }) => {
    const isTaken = origin !== "istio" || namespaces.has(namespace);
    const message = "selects a workload that is deployed for Gateways of another namespace, and is left out there";
    if (!isTaken) view.report({ metric: "pilot_total_rejected_configs", object: `Gateway/${name}`, message });
    return isTaken;
  });
}

/** Of the Gateways that Ingresses and listeners of the Gateway API stand for. */
const derivedGatewayHeads = query<readonly Config<GatewayHead>[]>(
  "derived-gateway-heads",
  (view) => [...view.read(listenerGateways).values(), ...view.read(ingressGateways).values()].map(headConfig),
  (a, b) => JSON.stringify(a) === JSON.stringify(b),
);

function isSelecting({ services }: GatewayHead): boolean {
  return services === undefined;
}

/** The proxy's service ports that a Gateway with services means: those of its own namespace. */
function targetsOf(view: View, { services, servicesNamespace }: GatewayHead): readonly ServiceTarget[] {
  if (services === undefined) return [];
  return view.proxy.targets.filter((one) => one.namespace === servicesNamespace && services.includes(one.hostname));
}

const derivedGateway = query<Config<Gateway> | undefined, GatewayName>(
  "derived-gateway",
  (view, name) => view.read(listenerGateways).get(name) ?? view.read(ingressGateways).get(name),
);

/** By name: the servers of a Gateway, the same objects until it changes. */
export const gatewayServers = query<readonly GatewayServer[], GatewayName>("gateway-servers", (view, gateway) => {
  const { namespace, name } = gatewayName.read(gateway);
  const written = view.config<Gateway>("Gateway", namespace, name);
  const config = written ?? view.read(derivedGateway, gateway);
  const servers = config?.spec.servers ?? [];
  // A server of Istio's own API listens for connections whatever its protocol is called, as with istiod.
  const takesUdp = written === undefined;
  return servers
    .filter(({ port }) => port !== undefined)
    .map((server) => ({
      gateway,
      server,
      hosts: server.hosts.map((host) => hostOf(host, namespace)),
      transport: takesUdp && server.port?.protocol === "UDP" ? "udp" : "tcp",
    }));
});

/** `./host` is of the Gateway's own namespace, host and `*`/host of any. */
function hostOf(text: string, namespace: string): string {
  const [home, host] = text.split("/");
  if (host === undefined || home === undefined) return text;
  return home === "*" ? host : `${home === "." ? namespace : home}/${host}`;
}

/** The listeners of the proxy; none where no Gateway selects it. */
export const mergedGateways = query<MergedGateways>("merged-gateways", (view) => {
  const placed = view
    .read(selectedGateways)
    .flatMap((head) => view.read(gatewayServers, head.name).map((server) => place(view, head, server)));
  return mergeGateways(placed, ({ gateway, server }, message) =>
    view.report({
      metric: "pilot_total_rejected_configs",
      object: `Gateway/${gateway}`,
      message: `server ${server.port?.name || server.port?.number} is left out: ${message}`,
    }),
  );
});

/** A server names the port of a Service before the workload; without such a Service, the workload's own. */
function place(view: View, head: GatewayHead, server: GatewayServer): PlacedServer {
  const number = server.server.port?.number ?? 0;
  const isOfServices = head.services !== undefined;
  const targets = (isOfServices ? targetsOf(view, head) : view.proxy.targets).filter(({ port }) => port === number);
  const translated = targets.filter(
    (target) => isOfServices || ownValue(targetService(view, target)?.labels, sameNumbersLabel) === undefined,
  );
  const ports = [...new Set(translated.map(({ targetPort }) => targetPort))].sort((a, b) => a - b);
  return {
    server,
    ports: ports.length > 0 || isOfServices ? ports : [number],
    takesDatagrams: view.feature("quicListeners") && targets.some((target) => takesDatagrams(view, target)),
  };
}

function takesDatagrams(view: View, target: ServiceTarget): boolean {
  const ports = targetService(view, target)?.ports ?? [];
  return ports.some(({ number, protocol }) => number === target.port && protocol === "UDP");
}
