/**
 * Merges the servers of several Gateways into what one workload listens on: a listener for each address and port, a route
 * configuration for each group of HTTP servers. A server that conflicts with an older one is left out and reported.
 */
import { isHttp, parseProtocol, type TextOf, textCodec } from "@flotilla/model";
import {
  type Server,
  type ServerTLSSettings,
  ServerTLSSettings_TLSmode as TlsMode,
} from "@flotilla/proto/networking/v1alpha3/gateway_pb";

export const gatewayName = textCodec("GatewayName", "/", ["namespace", "name"]);
export type GatewayName = TextOf<typeof gatewayName>;

/** A server as its Gateway has it. One object per Gateway and server, as long as the Gateway stays the same. */
export interface GatewayServer {
  readonly gateway: GatewayName;
  /** Whose hosts are meant: `host` of any namespace, `namespace/host` of one. */
  readonly hosts: readonly string[];
  readonly server: Server;
  readonly transport: "tcp" | "udp";
}

/** A host of a server, and the namespace that it is limited to. */
export function serverHost(text: string): { readonly namespace: string | undefined; readonly host: string } {
  const slash = text.indexOf("/");
  return { namespace: slash < 0 ? undefined : text.slice(0, slash), host: text.slice(slash + 1) };
}

/** Without the namespace that it is limited to. */
export function plainHost(text: string): string {
  return serverHost(text).host;
}

export interface GatewayListener {
  /** Empty where the workload listens on all of its addresses. */
  readonly bind: string;
  /** The workload's port. */
  readonly port: number;
  readonly transport: GatewayServer["transport"];
  /** Plain HTTP servers, or servers of one protocol, in the order of their filter chains. */
  readonly groups: readonly (readonly GatewayServer[])[];
  /** Those of all groups. */
  readonly servers: readonly GatewayServer[];
  /** Those of them that are reached by HTTP/3 too. */
  readonly http3Servers: readonly GatewayServer[];
}

export interface MergedGateways {
  /** By `port|bind`, with `|udp` behind it for UDP, in the order of their oldest servers. */
  readonly listeners: ReadonlyMap<string, GatewayListener>;
  /** The HTTP servers of each route configuration, once a workload port. */
  readonly routes: ReadonlyMap<string, readonly GatewayServer[]>;
  /** The route configurations of servers that are reached by HTTP/3. */
  readonly http3Routes: ReadonlySet<string>;
}

export interface PlacedServer {
  readonly server: GatewayServer;
  /** The workload's ports that stand for the server's. */
  readonly ports: readonly number[];
  /** Datagrams to the port reach the workload. */
  readonly takesDatagrams: boolean;
}

/** @param servers those of the oldest Gateway first */
export function mergeGateways(
  servers: readonly PlacedServer[],
  report: (server: GatewayServer, message: string) => void,
): MergedGateways {
  const ports = new Map<string, PortUnderWay>();
  const listeners = new Map<string, ListenerUnderWay>();
  const routes = new Map<string, GatewayServer[]>();
  const http3Routes = new Set<string>();
  for (const { server, ports: numbers, takesDatagrams } of servers) {
    for (const port of numbers) {
      const { bind } = server.server;
      const { transport } = server;
      const key = listenerKey(port, bind, transport);
      const listener = listeners.get(key) ?? listenerUnderWay(server, port);
      const portKey = `${port}|${transport}`;
      const onPort: PortUnderWay = ports.get(portKey) ?? { tlsBinds: new Map(), plainBind: undefined };
      ports.set(portKey, onPort);
      const conflict = hostConflict(onPort, server) ?? serverConflict(onPort, listener, server);
      if (conflict !== undefined) {
        report(server, `${bind === "" ? "" : `${bind}:`}${port} ${conflict}`);
        continue;
      }
      listeners.set(key, listener);
      join(listener.byProtocol, onPort, server);
      const route = routeConfigurationName(server, port);
      if (route !== "") routes.set(route, [...(routes.get(route) ?? []), server]);
      if (!takesDatagrams || route === "" || !terminatesTls(server.server)) continue;
      listener.http3Servers.push(server);
      http3Routes.add(route);
    }
  }
  return { listeners: new Map([...listeners].map(([key, one]) => [key, listenerOf(one)])), routes, http3Routes };
}

/** A workload port, on all of its addresses. */
interface PortUnderWay {
  /** The address of each host of TLS servers; of a host on several, the last one's. */
  readonly tlsBinds: Map<string, string>;
  /** The address that got its plain server last. */
  plainBind: string | undefined;
}

interface ListenerUnderWay extends Pick<GatewayListener, "bind" | "port" | "transport"> {
  /** By protocol; plain servers, of whatever protocol, by `plain`. */
  readonly byProtocol: Map<string, GatewayServer[]>;
  readonly http3Servers: GatewayServer[];
}

function listenerUnderWay({ server, transport }: GatewayServer, port: number): ListenerUnderWay {
  return { bind: server.bind, port, transport, byProtocol: new Map(), http3Servers: [] };
}

function listenerOf({ byProtocol, ...listener }: ListenerUnderWay): GatewayListener {
  return { ...listener, groups: [...byProtocol.values()], servers: [...byProtocol.values()].flat() };
}

function listenerKey(port: number, bind: string, transport: GatewayServer["transport"]): string {
  return `${port}|${bind}${transport === "udp" ? "|udp" : ""}`;
}

/**
 * Hosts become matches of filter chains, and Envoy rejects a listener that has one match twice. A host may occur twice in one server.
 *
 * differs: istiod compares hosts of HTTPS servers together with their namespace limits. Filter chains have no such limit, so Envoy rejects
 * istiod's whole listener.
 */
function hostConflict({ tlsBinds }: PortUnderWay, { server, hosts: texts }: GatewayServer): string | undefined {
  if (server.tls === undefined) return undefined;
  const hosts = isHttpServer(server) ? texts.map(plainHost) : texts;
  const twice = hosts.filter((host) => tlsBinds.get(host) === server.bind);
  if (twice.length > 0) return `has ${twice.join(", ")} already`;
  for (const host of hosts) tlsBinds.set(host, server.bind);
  return undefined;
}

/**
 * Plain HTTP servers share a listener, another plain server is alone on it. TLS servers do not follow a plain one, but a plain server
 * follows them, for connections without TLS, as with istiod.
 */
function serverConflict(
  { plainBind }: PortUnderWay,
  { byProtocol }: ListenerUnderWay,
  { server }: GatewayServer,
): string | undefined {
  const plain = byProtocol.get(plainGroup)?.[0];
  if (plain === undefined) return undefined;
  const isFree = isTlsServer(server) ? plainBind !== server.bind : hasPlainHttp(server) && hasPlainHttp(plain.server);
  return isFree ? undefined : `is taken by a server of Gateway ${plain.gateway}`;
}

const plainGroup = "plain";

function join(byProtocol: Map<string, GatewayServer[]>, onPort: PortUnderWay, one: GatewayServer): void {
  const { server } = one;
  const name = isTlsServer(server) ? parseProtocol(server.port?.protocol ?? "") : plainGroup;
  const group = byProtocol.get(name);
  if (group !== undefined) group.push(one);
  else byProtocol.set(name, [one]);
  if (group === undefined && name === plainGroup) onPort.plainBind = server.bind;
}

/** A server of HTTP without TLS. */
export function hasPlainHttp({ port }: Server): boolean {
  return isHttp(parseProtocol(port?.protocol ?? ""));
}

/** A server whose connections begin with TLS: on a plain HTTP server `tls` asks for a redirect only. */
export function isTlsServer({ port, tls }: Server): boolean {
  return tls !== undefined && !isHttp(parseProtocol(port?.protocol ?? ""));
}

export function passesTlsThrough(tls: ServerTLSSettings | undefined): boolean {
  return tls?.mode === TlsMode.PASSTHROUGH || tls?.mode === TlsMode.AUTO_PASSTHROUGH;
}

/** A server that terminates TLS, whatever it carries. */
function terminatesTls(server: Server): boolean {
  return isTlsServer(server) && !passesTlsThrough(server.tls);
}

/** Servers whose requests are routed: plain HTTP, and HTTPS that ends here. */
export function isHttpServer(server: Server): boolean {
  const protocol = parseProtocol(server.port?.protocol ?? "");
  return isHttp(protocol) || (protocol === "HTTPS" && terminatesTls(server));
}

/** Plain HTTP shares one a port and address; each HTTPS port of a Gateway has its own. Empty for servers without HTTP. */
export function routeConfigurationName({ server, gateway }: GatewayServer, workloadPort: number): string {
  if (!isHttpServer(server)) return "";
  const { number = 0, name = "" } = server.port ?? {};
  const bind = server.bind === "" ? "" : `.${server.bind}`;
  if (!isTlsServer(server)) return `http.${workloadPort}${bind}`;
  const { namespace, name: ofGateway } = gatewayName.read(gateway);
  return `https.${number}.${name}.${ofGateway}.${namespace}${bind}`;
}
