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
  const listeners = new Map<string, ListenerUnderWay>();
  const routes = new Map<string, GatewayServer[]>();
  const http3Routes = new Set<string>();
  const tlsHosts = new Map<string, Set<string>>();
  for (const { server, ports, takesDatagrams } of servers) {
    for (const port of ports) {
      const { bind } = server.server;
      const { transport } = server;
      const key = listenerKey(port, bind, transport);
      const listener = listeners.get(key) ?? { bind, port, transport, servers: [], http3Servers: [] };
      const conflict = hostConflict(tlsHosts, key, server) ?? serverConflict(listener.servers, server);
      if (conflict !== undefined) {
        report(server, `${bind === "" ? "" : `${bind}:`}${port} ${conflict}`);
        continue;
      }
      listener.servers.push(server);
      listeners.set(key, listener);
      const route = routeConfigurationName(server, port);
      if (route !== "") routes.set(route, [...(routes.get(route) ?? []), server]);
      if (!takesDatagrams || route === "" || !terminatesTls(server.server)) continue;
      listener.http3Servers.push(server);
      http3Routes.add(route);
    }
  }
  return { listeners, routes, http3Routes };
}

interface ListenerUnderWay extends GatewayListener {
  readonly servers: GatewayServer[];
  readonly http3Servers: GatewayServer[];
}

function listenerKey(port: number, bind: string, transport: GatewayServer["transport"]): string {
  return `${port}|${bind}${transport === "udp" ? "|udp" : ""}`;
}

/** Hosts become the matches of filter chains, which Envoy refuses twice on one listener. */
function hostConflict(tlsHosts: Map<string, Set<string>>, key: string, { server, hosts }: GatewayServer) {
  if (server.tls === undefined) return undefined;
  const taken = tlsHosts.get(key) ?? new Set();
  tlsHosts.set(key, taken);
  const twice = hosts.filter((host) => {
    const isTaken = taken.has(host);
    taken.add(host);
    return isTaken;
  });
  return twice.length === 0 ? undefined : `has ${twice.join(", ")} already`;
}

/** One listener has TLS servers, or plain HTTP ones, or one plain TCP server. */
function serverConflict([first]: readonly GatewayServer[], server: GatewayServer): string | undefined {
  if (first === undefined) return undefined;
  const [known, added] = [sharing(first.server), sharing(server.server)];
  return known === added && known !== "alone" ? undefined : `is taken by a server of Gateway ${first.gateway}`;
}

function sharing(server: Server): "tls" | "http" | "alone" {
  if (isTlsServer(server)) return "tls";
  return isHttp(parseProtocol(server.port?.protocol ?? "")) ? "http" : "alone";
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
  if (!isTlsServer(server)) return `http.${workloadPort}${server.bind === "" ? "" : `.${server.bind}`}`;
  const { namespace, name: ofGateway } = gatewayName.read(gateway);
  return `https.${number}.${name}.${ofGateway}.${namespace}`;
}
