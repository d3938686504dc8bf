/**
 * The way of a request, hop by hop: the evaluator of `@flotilla/traffic` on what xds-server shows of the proxies to the caller, first at the
 * proxy that the request leaves from, then at those of its destinations.
 */
import type { PathDestination, PathHop, ProxyWay, RequestPath } from "@flotilla/console/contract";
import {
  type Arrival,
  arrivalAt,
  type Hop,
  type Sender,
  type Trace,
  type TracedDestination,
  textAt,
  trustDomainOf,
} from "@flotilla/traffic";
import { RequestRefused } from "../../errors.ts";
import type { ApiRequest, Handlers } from "../../serve/endpoint.ts";
import type { Services } from "../../upstream/services.ts";
import { askedRequest } from "./asked-request.ts";
import { ProxyView } from "./proxy-view.ts";
import { addressesOf, receiverOf } from "./receivers.ts";

type PathHandlers = Pick<Handlers, "GET /api/v1/topology/path">;

export function requestPathHandlers(services: Services): PathHandlers {
  return { "GET /api/v1/topology/path": (request) => requestPath(services, request) };
}

/** Proxies one behind the other: a workload, gateways, another workload. */
const maxProxies = 4;
/** Of all destinations together. */
const maxReceivers = 10;
const maxDestinations = 10;
const maxEndpoints = 20;
const maxObjects = 10;
/** An address without a host (RFC 5737): listeners for all addresses take it. */
const nowhere = "192.0.2.1";
const evaluated: ReadonlySet<string> = new Set(["sidecar", "router"]);

interface Walk {
  readonly services: Services;
  readonly token: string;
  /** Proxies that may follow one behind the other. */
  readonly left: number;
  /** Proxies that may be evaluated yet, on all branches. */
  readonly receivers: { left: number };
}

async function requestPath(services: Services, { query, session: { token } }: ApiRequest): Promise<RequestPath> {
  const { from, call, host, address: given } = askedRequest(query);
  const view = await ProxyView.load(services, token, from);
  const { type } = view.node;
  if (!evaluated.has(type)) throw new RequestRefused("bad-request", `ways from a ${type} are not evaluated`);
  const isRouter = type === "router";
  const address = given ?? (isRouter ? undefined : (localAddress(view, call.Port) ?? (await view.resolve(host))));
  const arrival: Arrival = {
    call: { ...call, Address: address ?? nowhere, CallMode: isRouter ? "gateway" : "outbound" },
  };
  const way = await wayThrough(
    { services, token, left: maxProxies - 1, receivers: { left: maxReceivers } },
    view,
    arrival,
  );
  return { way, ...(address !== undefined && { address }), away: [] };
}

const loopback = "127.0.0.1";

/** Workloads whose connections are not redirected call their proxy on the own host. */
function localAddress({ node, listeners }: ProxyView, port: number): string | undefined {
  const isBound = listeners.some((listener) => {
    const [address, bound] = ["address", "portValue"].map((key) => textAt(listener, "address", "socketAddress", key));
    return address === loopback && bound === String(port);
  });
  return isDirect(node) && isBound ? loopback : undefined;
}

/** Connections are made to the proxy's own ports. */
function isDirect({ type, metadata }: ProxyView["node"]): boolean {
  return type === "router" || new Map(Object.entries(metadata)).get("INTERCEPTION_MODE") === "NONE";
}

async function wayThrough(walk: Walk, view: ProxyView, arrival: Arrival): Promise<ProxyWay> {
  const trace = await view.trace(arrival);
  const { proxy, type } = view.node;
  const origins = await originsOf(view, trace);
  const shown = trace.destinations.slice(0, maxDestinations);
  const destinations = await Promise.all(
    shown.map((destination) => destinationOf(walk, { view, arrival, destination, origins })),
  );
  return { proxy, type, hops: trace.hops.map((hop) => hopOf(hop, origins)), end: trace.end, destinations };
}

/** Objects by resource. */
type Origins = ReadonlyMap<string, readonly string[]>;

async function originsOf(view: ProxyView, { hops, destinations }: Trace): Promise<Origins> {
  const all = [...hops, ...destinations.slice(0, maxDestinations).flatMap((one) => one.hops)];
  const resources = new Map(all.flatMap(({ resource }) => (resource ? [[keyOf(resource), resource] as const] : [])));
  const found = [...resources].map(async ([key, { type, name }]) => [key, await view.madeFrom(type, name)] as const);
  return new Map(await Promise.all(found));
}

function keyOf({ type, name }: NonNullable<Hop["resource"]>): string {
  return `${type} ${name}`;
}

/** Kinds of the objects of a resource that decide at one of its parts; the part names others itself. */
const kindsOf: Readonly<Record<Hop["kind"], RegExp>> = {
  listener: /^(?:Gateway|Sidecar)\//,
  "filter chain": /^(?:PeerAuthentication|Gateway)\//,
  authorization: /^$/,
  token: /^RequestAuthentication\//,
  filter: /^(?:EnvoyFilter|WasmPlugin)\//,
  "route configuration": /^$/,
  "virtual host": /^$/,
  route: /^$/,
  cluster: /./,
  endpoints: /./,
};

function hopOf({ kind, name, verdict, facts, resource, objects }: Hop, origins: Origins): PathHop {
  const made = resource === undefined ? [] : (origins.get(keyOf(resource)) ?? []);
  const others = made.filter((object) => kindsOf[kind].test(object) && /^[A-Z]\w+\/[^/ ]*\/[^/ ]+$/.test(object));
  const all = [...new Set([...objects, ...others.toSorted()])].slice(0, maxObjects);
  return { ...{ kind, name, verdict, facts, objects: all }, ...(resource !== undefined && { resource }) };
}

interface Onward {
  readonly view: ProxyView;
  readonly arrival: Arrival;
  readonly destination: TracedDestination;
  readonly origins: Origins;
}

async function destinationOf(walk: Walk, onward: Onward): Promise<PathDestination> {
  const { cluster, share, hops, end, endpoints } = onward.destination;
  return {
    ...{ cluster, share, end, hops: hops.map((hop) => hopOf(hop, onward.origins)), endpointCount: endpoints.length },
    endpoints: endpoints.slice(0, maxEndpoints).map(({ identities: _, ...endpoint }) => endpoint),
    ...(await receiving(walk, onward)),
  };
}

/** The way at the proxy of the first endpoint that may be reached. */
async function receiving(walk: Walk, onward: Onward): Promise<Pick<PathDestination, "receiver" | "unseen">> {
  const { view, arrival, destination } = onward;
  const [endpoint] = destination.endpoints.filter(({ isHealthy }) => isHealthy).sort((a, b) => a.priority - b.priority);
  if (endpoint === undefined || destination.end.kind !== "forwarded") return {};
  if (endpoint.transport === "HBONE")
    return { unseen: "It goes on over HBONE; ztunnels and waypoints are not evaluated." };
  const { services, token, left, receivers } = walk;
  if (left === 0) return { unseen: `Ways through more than ${maxProxies} proxies are not followed.` };
  if (receivers.left <= 0)
    return { unseen: `It goes on; more than ${maxReceivers} receiving proxies are not evaluated.` };
  receivers.left--;
  const proxy = await receiverOf(services, token, endpoint);
  if (proxy === undefined)
    return { unseen: `No proxy with the address of ${endpoint.address} is connected, or none that you may see.` };
  const receiver = await ProxyView.load(services, token, proxy);
  if (!evaluated.has(receiver.node.type))
    return { unseen: `It goes on to ${proxy}, a ${receiver.node.type}, which is not evaluated.` };
  const sender = senderOf(view, arrival, { endpoint, receiver });
  const next = arrivalAt(endpoint, destination, sender);
  if (next === undefined) return { unseen: `${endpoint.address} is no address of a proxy.` };
  return { receiver: await wayThrough({ ...walk, left: left - 1 }, receiver, next) };
}

function senderOf(
  { node, listeners }: ProxyView,
  { call }: Arrival,
  { endpoint, receiver }: { readonly endpoint: TracedDestination["endpoints"][number]; readonly receiver: ProxyView },
): Sender {
  const metadata = new Map(Object.entries(node.metadata));
  const [, ofEndpoint] = /^spiffe:\/\/([^/]+)\//.exec(endpoint.identities[0] ?? "") ?? [];
  const domain = trustDomainOf(listeners) ?? ofEndpoint;
  const account = metadata.get("SERVICE_ACCOUNT");
  const isKnown = domain !== undefined && account !== undefined;
  return {
    call,
    identity: isKnown
      ? `spiffe://${domain}/ns/${node.namespace}/sa/${account}`
      : { doubt: "the identity of the caller" },
    address: addressesOf(node.metadata)[0] ?? { doubt: "the address of the caller" },
    mode: isDirect(receiver.node) ? "gateway" : "inbound",
  };
}
