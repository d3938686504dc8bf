/**
 * The way of a call through one proxy, hop by hop: what it meets, under which names and conditions, where it goes and why it
 * stops. The receiving side is another trace, of `arrivalAt` at the receiver's proxy.
 */
import type { JsonObject } from "@flotilla/proto";
import type { Subject } from "./authorization.ts";
import type { Call } from "./call.ts";
import { describeListening, listenerFacts } from "./describe-listener.ts";
import { abortStatus, actionFacts, matchFacts } from "./describe-route.ts";
import { type DestinationPath, type Destinations, pathToCluster } from "./destination.ts";
import { type End, type Hop, metadataObjects, type ResourceName } from "./hop.ts";
import { filterHops, httpFiltersOf } from "./http-filters.ts";
import { at, objectsAt, textAt, textsAt } from "./json.ts";
import type { Doubt } from "./judgement.ts";
import { type Configuration, type Meeting, meet } from "./meet.ts";
import { normalizedPath } from "./normalized-path.ts";
import { type Rewritten, rewrittenRequest } from "./rewrite.ts";
import { tokenMetadata } from "./tokens.ts";

/** All that a proxy has. */
export interface ProxyConfiguration extends Configuration, Destinations {}

/** A call at the door of a proxy, and who makes it. */
export interface Arrival {
  readonly call: Call;
  /** SPIFFE URI of the caller's certificate; undefined without one. */
  readonly peer?: string | Doubt | undefined;
  readonly sourceIp?: string | Doubt | undefined;
}

/** A destination of a call, with what happens there. */
export interface TracedDestination extends DestinationPath {
  readonly cluster: string;
  /** Percent of the calls that go there. */
  readonly share: number;
  /** False for a connection whose bytes are sent on as they are. */
  readonly isHttp: boolean;
  /** The request as it is sent on. */
  readonly request: Rewritten;
}

export interface Trace {
  /** Up to the route; those of a destination are its own. */
  readonly hops: readonly Hop[];
  readonly end: End;
  /** Empty where the call ends at this proxy. */
  readonly destinations: readonly TracedDestination[];
}

/** Equal inputs give equal traces. */
export function traceCall(configuration: ProxyConfiguration, arrival: Arrival): Trace {
  const met = meet(configuration, { ...arrival.call, ...pathOf(configuration, arrival.call) });
  const filters = filtersOf(met, subjectOf(met, arrival));
  const before = [...listenerHops(met), ...filters];
  const refused = filters.find(({ verdict }) => verdict === "stops");
  const routes = routeHops(met);
  const hops = [...before, ...routes];
  const unless = openHops(hops);
  if (refused !== undefined) {
    // Neither later filters nor the route are reached.
    const reached = before.slice(0, before.indexOf(refused) + 1);
    return { hops: reached, end: { ...refusalOf(refused, met), unless: openHops(reached) }, destinations: [] };
  }
  const end = endOf(met);
  if (end !== undefined) return { hops, end: { ...end, unless }, destinations: [] };
  const destinations = destinationsOf(met).map(({ cluster, share, chosen }): TracedDestination => {
    const { call } = met;
    const request = rewrittenRequest(met, chosen);
    return { cluster, share, isHttp: met.route !== undefined, request, ...pathToCluster(configuration, cluster, call) };
  });
  return { hops, end: { ...overall(destinations), unless }, destinations };
}

/** Hops that may decide otherwise. */
function openHops(hops: readonly Hop[]): readonly string[] {
  return hops.filter(({ verdict }) => verdict === "unknown").map(({ kind, name }) => `${kind} ${name}`);
}

/** As the connection manager of the chain that the call meets normalizes it. */
function pathOf(configuration: Configuration, call: Call): Pick<Call, "Path"> {
  if (call.Path === undefined) return {};
  return { Path: normalizedPath(call.Path, meet(configuration, call).manager) };
}

function subjectOf({ call, manager }: Meeting, { peer, sourceIp }: Arrival): Subject {
  return {
    ...{ method: call.Method, path: call.Path, host: call.HostHeader, headers: new Map(Object.entries(call.Headers)) },
    ...{ address: call.Address, port: call.Port, sni: call.Sni },
    peer: call.TLS === "mtls" ? (peer ?? { doubt: "the identity of the caller" }) : undefined,
    sourceIp: sourceIp ?? { doubt: "the address of the caller" },
    metadata: manager === undefined ? new Map() : tokenMetadata(manager, call.Claims),
  };
}

/** Filters are reached once a chain takes the connection. */
function filtersOf(met: Meeting, subject: Subject): readonly Hop[] {
  const { filters, manager, route, call } = met;
  if (filters === undefined || isTransportError(met)) return [];
  const inputs = { subject, claims: call.Claims, route };
  const isRead = manager !== undefined && met.outcome.error !== "protocol error";
  const resource = listenerName(met);
  return [...filterHops(filters, inputs), ...(isRead ? filterHops(httpFiltersOf(manager), inputs) : [])].map((hop) => ({
    ...hop,
    ...(resource !== undefined && { resource }),
  }));
}

function isTransportError({ outcome: { error } }: Meeting): boolean {
  return error === "invalid TLS" || error === "invalid mTLS";
}

function listenerName({ listener }: Meeting): ResourceName | undefined {
  return listener === undefined ? undefined : { type: "lds", name: textAt(listener, "name") };
}

function listenerHops(met: Meeting): readonly Hop[] {
  const { listener, chain, call, outcome } = met;
  const resource = listenerName(met);
  if (listener === undefined || resource === undefined) {
    const facts = [`No listener takes connections to ${call.Address}:${call.Port}.`];
    return [{ kind: "listener", name: `${call.Address}:${call.Port}`, verdict: "stops", facts, objects: [] }];
  }
  const first: Hop = {
    ...{ kind: "listener", name: resource.name, verdict: "passes", objects: [] },
    ...{ facts: listenerFacts(listener, call), resource },
  };
  const isRefused = chain === undefined || isTransportError(met) || outcome.error === "protocol error";
  const second: Hop = {
    ...{ kind: "filter chain", name: outcome.filterChain ?? (chain === undefined ? "none" : "default") },
    ...{ verdict: isRefused ? "stops" : "passes", objects: [], resource },
    facts: describeListening(met),
  };
  return [first, second];
}

function routeHops(met: Meeting): readonly Hop[] {
  const { manager, routeConfiguration, virtualHost, route, outcome, doubtful = [], call } = met;
  if (manager === undefined || isTransportError(met) || outcome.error === "protocol error") return [];
  const name = outcome.routeConfig ?? textAt(routeConfiguration, "name");
  const isInline = outcome.routeConfig === undefined;
  const own = isInline ? listenerName(met) : ({ type: "rds", name } as const);
  const resource = own !== undefined && routeConfiguration !== undefined ? { resource: own } : {};
  const step = (kind: Hop["kind"], of: string, facts: readonly string[], verdict: Hop["verdict"] = "passes"): Hop => ({
    ...{ kind, name: of, verdict, facts, objects: [] },
    ...resource,
  });
  if (routeConfiguration === undefined)
    return [step("route configuration", name, ["The proxy has no route configuration of this name."], "stops")];
  const first = step("route configuration", name, isInline ? ["It is a part of the listener."] : []);
  if (virtualHost === undefined)
    return [first, step("virtual host", "none", [`No virtual host has the host ${call.HostHeader}.`], "stops")];
  // Each name is there with a dot at its end, too.
  const domains = textsAt(virtualHost, "domains").filter((domain) => !domain.endsWith("."));
  const shown = domains.length > 5 ? [...domains.slice(0, 5), `${domains.length - 5} more`] : domains;
  const second = step("virtual host", textAt(virtualHost, "name"), [
    `Host ${call.HostHeader} is one of ${shown.join(", ")}.`,
  ]);
  if (outcome.error?.startsWith("tls required") === true)
    return [first, { ...second, verdict: "stops", facts: [...second.facts, "It requires TLS."] }];
  const doubts = doubtful.map(
    (one) =>
      `Route ${textAt(one.route, "name") || "without a name"} before it may take the request: that depends on ${one.doubt}.`,
  );
  if (route === undefined) {
    const facts = [`None of ${objectsAt(virtualHost, "routes").length} routes takes the request.`, ...doubts];
    return [first, second, step("route", "none", facts, doubts.length > 0 ? "unknown" : "stops")];
  }
  const facts = [...matchFacts(route), ...doubts, ...actionFacts(route)];
  const last = step(
    "route",
    textAt(route, "name") || "without a name",
    facts,
    doubts.length > 0 ? "unknown" : "passes",
  );
  return [first, second, { ...last, objects: metadataObjects(route) }];
}

const noDoubt: readonly string[] = [];

function refusalOf({ kind, facts, objects }: Hop, { manager }: Meeting): End {
  const [why = ""] = facts;
  const by = objects.length === 0 ? "" : ` (${objects.join(", ")})`;
  if (manager === undefined)
    return { kind: "closed", reason: `The connection is closed. ${why}${by}`, unless: noDoubt };
  const status = kind === "token" ? 401 : 403;
  return { kind: "refused", status, reason: `${status}: ${why}${by}`, unless: noDoubt };
}

/** Where the call ends at this proxy; undefined where it is sent on. */
function endOf(met: Meeting): End | undefined {
  const { outcome, route, routeConfiguration, manager, virtualHost } = met;
  const error = outcome.error;
  if (error?.startsWith("tls required") === true)
    return answer(301, `301: ${textAt(virtualHost, "name")} answers with a redirect to HTTPS.`);
  if (
    manager !== undefined &&
    (routeConfiguration === undefined || virtualHost === undefined) &&
    error?.startsWith("no ") === true
  )
    return { kind: "refused", status: 404, reason: `404: no virtual host has the host.`, unless: noDoubt };
  if (error === "no route matched")
    return { kind: "refused", status: 404, reason: "404: no route takes the request.", unless: noDoubt };
  if (error !== undefined) return { kind: "closed", reason: `The connection is closed: ${error}.`, unless: noDoubt };
  if (route === undefined) return undefined;
  const abort = abortStatus(route);
  if (abort !== undefined) return answer(abort, `${abort}: a fault answers every request of this route.`);
  const redirect = at(route, "redirect");
  if (redirect !== undefined) return redirectEnd(redirect as JsonObject, met);
  const direct = at(route, "directResponse");
  const status = Number(textAt(direct, "status"));
  return direct === undefined ? undefined : answer(status, `${status}: the route answers by itself.`);
}

function answer(status: number, reason: string): End {
  return { kind: "answered", status, reason, unless: noDoubt };
}

const redirectCodes: ReadonlyMap<string, number> = new Map([
  ["FOUND", 302],
  ["SEE_OTHER", 303],
  ["TEMPORARY_REDIRECT", 307],
  ["PERMANENT_REDIRECT", 308],
]);

function redirectEnd(redirect: JsonObject, { call }: Meeting): End {
  const status = redirectCodes.get(textAt(redirect, "responseCode")) ?? 301;
  const https = at(redirect, "httpsRedirect") === true ? "https" : "";
  const scheme = https || textAt(redirect, "schemeRedirect") || (call.TLS === "plaintext" ? "http" : "https");
  const port = textAt(redirect, "portRedirect");
  const host = `${textAt(redirect, "hostRedirect") || call.HostHeader}${port === "" ? "" : `:${port}`}`;
  const path =
    textAt(redirect, "pathRedirect") ||
    (textAt(redirect, "prefixRewrite") === "" ? call.Path : `${textAt(redirect, "prefixRewrite")}…`);
  return answer(status, `${status}: a redirect to ${scheme}://${host}${path}.`);
}

interface Chosen {
  readonly cluster: string;
  readonly share: number;
  readonly chosen: JsonObject | undefined;
}

/** Clusters with their shares, the largest first; those of no weight are left out. */
function destinationsOf({ route, filters = [], outcome }: Meeting): readonly Chosen[] {
  const ofConnections = filters.flatMap((filter) => objectsAt(filter, "typedConfig", "weightedClusters", "clusters"));
  const weighted = route === undefined ? ofConnections : objectsAt(route, "route", "weightedClusters", "clusters");
  const weightOf = (one: JsonObject) => Number(textAt(one, "weight") || "0");
  const total = weighted.reduce((sum, one) => sum + weightOf(one), 0);
  if (total > 0)
    return weighted
      .filter((one) => weightOf(one) > 0)
      .map((one) => ({
        cluster: textAt(one, "name"),
        share: Math.round((weightOf(one) / total) * 1000) / 10,
        chosen: one,
      }))
      .sort((a, b) => b.share - a.share);
  const cluster = outcome.cluster ?? textAt(route, "route", "clusterHeader");
  return cluster === undefined || cluster === "" ? [] : [{ cluster, share: 100, chosen: undefined }];
}

/** Of one destination its own end; of several a summary. */
function overall(destinations: readonly TracedDestination[]): End {
  const [first] = destinations;
  if (first === undefined) return { kind: "closed", reason: "No filter sends the call on.", unless: noDoubt };
  if (destinations.length === 1) return first.end;
  const shares = destinations.map(
    ({ share, cluster, end }) => `${share} % ${end.kind === "forwarded" ? "to" : "fail at"} ${cluster}`,
  );
  const hasAny = destinations.some(({ end }) => end.kind === "forwarded");
  return { ...(hasAny ? { kind: "forwarded" as const } : first.end), reason: `${shares.join(", ")}.`, unless: noDoubt };
}
