/** The path of a call through a proxy's listeners and routes, as Envoy would decide. */
import type { JsonObject } from "@flotilla/proto";
import { type Call, type FullCall, fullCall, type Outcome } from "./call.ts";
import { matchFilterChain } from "./filter-chain.ts";
import { at, objectsAt, textAt } from "./json.ts";
import { matchRoute, matchVirtualHost } from "./route.ts";

export interface Configuration {
  readonly listeners: readonly JsonObject[];
  /** The route configuration of a name. */
  readonly routes: (name: string) => JsonObject | undefined;
}

const tlsInspector = "envoy.filters.listener.tls_inspector";
const httpInspector = "envoy.filters.listener.http_inspector";
const connectionManager = "envoy.filters.network.http_connection_manager";
const tcpProxy = "envoy.filters.network.tcp_proxy";

/** The names of the resources that the call meets; see `meet` for the route itself. */
export function simulate(configuration: Configuration, call: Call): Outcome {
  return meet(configuration, call).outcome;
}

export interface Meeting {
  readonly outcome: Outcome;
  /** The route that a request meets, in its JSON form. */
  readonly route?: JsonObject;
  /** The network filters of the filter chain that the connection meets. */
  readonly filters?: readonly JsonObject[];
}

export function meet(configuration: Configuration, call: Call): Meeting {
  const asked = fullCall(call);
  const listener = matchListener(configuration.listeners, asked);
  if (listener === undefined) return { outcome: { error: "no listener matched" } };
  const outcome: Outcome = { listener: textAt(listener, "name") };
  const seesTls = hasFilter(listener, tlsInspector, asked.Port);
  const seen = { ...asked, Alpn: alpnSeen(listener, asked, seesTls) };
  const matched = matchFilterChain(listener, seen, seesTls);
  if ("error" in matched) return failed(outcome, matched.error);
  const { chain } = matched;
  const chainName = textAt(chain, "name");
  if (chainName !== "") outcome.filterChain = chainName;
  const socket = at(chain, "transportSocket");
  if (socket !== undefined && asked.TLS === "plaintext") return failed(outcome, "invalid TLS");
  if (socket !== undefined && requiresMtls(chain, asked) !== (asked.TLS === "mtls"))
    return failed(outcome, "invalid mTLS");
  const filters = objectsAt(chain, "filters");
  const http = filters.find(({ name }) => name === connectionManager);
  if (http !== undefined) {
    const isReadable = (asked.TLS === "plaintext" || socket !== undefined) && asked.Protocol !== "tcp";
    return isReadable ? { ...request(configuration, http, seen, outcome), filters } : failed(outcome, "protocol error");
  }
  const cluster = textAt(
    filters.find(({ name }) => name === tcpProxy),
    "typedConfig",
    "cluster",
  );
  return { outcome: cluster === "" ? outcome : { ...outcome, cluster }, filters };
}

function failed(outcome: Outcome, error: string): Meeting {
  return { outcome: { ...outcome, error } };
}

function request({ routes }: Configuration, filter: JsonObject, call: FullCall, outcome: Outcome): Meeting {
  const inline = at(filter, "typedConfig", "routeConfig") as JsonObject | undefined;
  const name = textAt(filter, "typedConfig", "rds", "routeConfigName");
  const met: Outcome = inline === undefined ? { ...outcome, routeConfig: name } : outcome;
  const host = matchVirtualHost(inline ?? routes(name), call.HostHeader);
  if (host === undefined) return failed(met, "no virtual host matched");
  met.virtualHost = textAt(host, "name");
  if (textAt(host, "requireTls") === "ALL" && call.TLS === "plaintext") return failed(met, "tls required, sending 301");
  const route = matchRoute(host, call);
  if (route === undefined) return failed(met, "no route matched");
  const [routeName, cluster] = [textAt(route, "name"), textAt(route, "route", "cluster")];
  return {
    outcome: { ...met, ...(routeName !== "" && { route: routeName }), ...(cluster !== "" && { cluster }) },
    route,
  };
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
