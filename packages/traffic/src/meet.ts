/** The path of a call through a proxy's listeners and routes, as Envoy would decide. */
import type { JsonObject } from "@flotilla/proto";
import { type Call, type FullCall, fullCall, type Outcome } from "./call.ts";
import { matchFilterChain } from "./filter-chain.ts";
import { at, objectsAt, textAt } from "./json.ts";
import { type DoubtfulRoute, matchRoute, matchVirtualHost } from "./route.ts";
import { tokenMetadata } from "./tokens.ts";

export interface Configuration {
  readonly listeners: readonly JsonObject[];
  /** The route configuration of a name. */
  readonly routes: (name: string) => JsonObject | undefined;
  /** Scopes of routers whose routes are sent host by host. */
  readonly scopes?: readonly JsonObject[];
}

const tlsInspector = "envoy.filters.listener.tls_inspector";
const httpInspector = "envoy.filters.listener.http_inspector";
const connectionManager = "envoy.filters.network.http_connection_manager";
const tcpProxy = "envoy.filters.network.tcp_proxy";

/** The names of the resources that the call meets; see `meet` for the route itself. */
export function simulate(configuration: Configuration, call: Call): Outcome {
  return meet(configuration, call).outcome;
}

/** Parts are in their JSON form, and absent where the call does not get that far. */
export interface Meeting {
  readonly outcome: Outcome;
  /** The call with its defaults, with the ALPN that the listener sees. */
  readonly call: FullCall;
  readonly listener?: JsonObject;
  readonly chain?: JsonObject;
  /** The network filters of the filter chain that the connection meets. */
  readonly filters?: readonly JsonObject[];
  /** The HTTP connection manager among them. */
  readonly manager?: JsonObject;
  readonly routeConfiguration?: JsonObject;
  readonly virtualHost?: JsonObject;
  readonly route?: JsonObject;
  /** Routes before it that may take the request. */
  readonly doubtful?: readonly DoubtfulRoute[];
}

/** The parts of a configuration that a call meets. */
export function meet(configuration: Configuration, call: Call): Meeting {
  const asked = fullCall(call);
  const listener = matchListener(configuration.listeners, asked);
  if (listener === undefined) return { call: asked, outcome: { error: "no listener matched" } };
  const outcome: Outcome = { listener: textAt(listener, "name") };
  const seesTls = hasFilter(listener, tlsInspector, asked.Port);
  const seen = { ...asked, Alpn: alpnSeen(listener, asked, seesTls) };
  const matched = matchFilterChain(listener, seen, seesTls);
  if ("error" in matched) return { call: seen, listener, outcome: { ...outcome, error: matched.error } };
  const { chain } = matched;
  const chainName = textAt(chain, "name");
  if (chainName !== "") outcome.filterChain = chainName;
  const filters = objectsAt(chain, "filters");
  const met: Meeting = { outcome, call: seen, listener, chain, filters };
  const refusal = transportError(chain, asked);
  if (refusal !== undefined) return failed(met, refusal);
  const manager = filters.find(({ name }) => name === connectionManager);
  if (manager !== undefined) {
    const isReadable =
      (asked.TLS === "plaintext" || at(chain, "transportSocket") !== undefined) && asked.Protocol !== "tcp";
    const withManager = { ...met, manager };
    return isReadable ? request(configuration, withManager, manager) : failed(withManager, "protocol error");
  }
  const proxy = filters.find(({ name }) => name === tcpProxy);
  const cluster = textAt(proxy, "typedConfig", "cluster");
  return cluster === "" ? met : { ...met, outcome: { ...outcome, cluster } };
}

function transportError(chain: JsonObject, call: FullCall): string | undefined {
  if (at(chain, "transportSocket") === undefined) return undefined;
  if (call.TLS === "plaintext") return "invalid TLS";
  return requiresMtls(chain, call) === (call.TLS === "mtls") ? undefined : "invalid mTLS";
}

function failed(met: Meeting, error: string): Meeting {
  return { ...met, outcome: { ...met.outcome, error } };
}

function request(configuration: Configuration, before: Meeting, manager: JsonObject): Meeting {
  const { call } = before;
  const inline = at(manager, "typedConfig", "routeConfig") as JsonObject | undefined;
  const name = textAt(manager, "typedConfig", "rds", "routeConfigName");
  const found = inline ?? scopedRoutes(configuration, manager, call) ?? configuration.routes(name);
  const outcome: Outcome = inline === undefined ? { ...before.outcome, routeConfig: name } : { ...before.outcome };
  const met = { ...before, outcome, ...(found !== undefined && { routeConfiguration: found }) };
  const virtualHost = matchVirtualHost(found, call.HostHeader);
  if (virtualHost === undefined) return failed(met, "no virtual host matched");
  outcome.virtualHost = textAt(virtualHost, "name");
  const within = { ...met, virtualHost };
  if (textAt(virtualHost, "requireTls") === "ALL" && call.TLS === "plaintext")
    return failed(within, "tls required, sending 301");
  const { route, doubtful } = matchRoute(virtualHost, call, tokenMetadata(manager, call.Claims));
  if (route === undefined) return failed({ ...within, doubtful }, "no route matched");
  const [routeName, cluster] = [textAt(route, "name"), textAt(route, "route", "cluster")];
  return {
    ...within,
    ...{ route, doubtful },
    outcome: { ...outcome, ...(routeName !== "" && { route: routeName }), ...(cluster !== "" && { cluster }) },
  };
}

/** The route configuration of the scope whose key is the host; undefined where routes are not sent by scopes. */
function scopedRoutes({ scopes = [] }: Configuration, manager: JsonObject, call: FullCall): JsonObject | undefined {
  if (at(manager, "typedConfig", "scopedRoutes") === undefined) return undefined;
  const host = call.HostHeader.replace(/:.*/, "").toLowerCase();
  const scope = scopes.find((one) => objectsAt(one, "key", "fragments")[0]?.["stringKey"] === host);
  return at(scope, "routeConfiguration") as JsonObject | undefined;
}

/** A listener of the address, else of all addresses, else the one that everything is redirected to. */
function matchListener(
  listeners: readonly JsonObject[],
  { CallMode, Address, Port }: FullCall,
): JsonObject | undefined {
  const named = (name: string) => listeners.find((listener) => listener["name"] === name);
  if (CallMode === "inbound") return named("virtualInbound");
  const bound = (address: string) =>
    listeners.find(
      (listener) =>
        textAt(listener, "address", "socketAddress", "address") === address &&
        textAt(listener, "address", "socketAddress", "portValue") === String(Port),
    );
  return bound(Address) ?? bound("0.0.0.0") ?? named("virtualOutbound");
}

/** Without an inspector the listener cannot detect it; with one it recognizes plain HTTP. */
function alpnSeen(listener: JsonObject, { TLS, Alpn, Protocol, Port }: FullCall, seesTls: boolean): string {
  if (TLS !== "plaintext") return seesTls ? Alpn : "";
  if (!hasFilter(listener, httpInspector, Port)) return seesTls ? Alpn : "";
  return Protocol === "http" ? "http/1.1" : Protocol === "http2" ? "h2c" : "";
}

function requiresMtls(chain: JsonObject, { MtlsSecretConfigName }: FullCall): boolean {
  const context = at(chain, "transportSocket", "typedConfig");
  const [secret] = objectsAt(context, "commonTlsContext", "tlsCertificateSdsSecretConfigs");
  return secret?.["name"] === MtlsSecretConfigName && at(context, "requireClientCertificate") === true;
}

/** A listener filter may be switched off for ports. */
function hasFilter(listener: JsonObject, name: string, port: number): boolean {
  const filter = objectsAt(listener, "listenerFilters").find((one) => one["name"] === name);
  return filter !== undefined && !isDisabled(at(filter, "filterDisabled") as JsonObject | undefined, port);
}

function isDisabled(predicate: JsonObject | undefined, port: number): boolean {
  if (predicate === undefined) return false;
  if (predicate["destinationPortRange"] !== undefined) {
    const [start, end] = ["start", "end"].map((key) => Number(textAt(predicate, "destinationPortRange", key)));
    return start !== undefined && end !== undefined && port >= start && port < end;
  }
  if (predicate["notMatch"] !== undefined) return !isDisabled(predicate["notMatch"] as JsonObject, port);
  const any = objectsAt(predicate, "orMatch", "rules");
  if (any.length > 0) return any.some((rule) => isDisabled(rule, port));
  const all = objectsAt(predicate, "andMatch", "rules");
  return all.length > 0 ? all.every((rule) => isDisabled(rule, port)) : predicate["anyMatch"] === true;
}
