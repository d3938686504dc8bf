/** Selects the filter chain of a listener for a connection: Envoy's order of criteria, the most specific of each. */
import { rangeBits } from "@flotilla/model";
import type { JsonObject, JsonValue } from "@flotilla/proto";
import type { FullCall } from "./call.ts";
import { at, objectsAt, textAt, textsAt } from "./json.ts";

/** The chain, or why there is none. */
export type FilterChainMatch = { readonly chain: JsonObject } | { readonly error: string };

/** `hasTlsInspector`: the listener reads what TLS announces. */
export function matchFilterChain(listener: JsonObject, call: FullCall, hasTlsInspector: boolean): FilterChainMatch {
  const transport = call.TLS !== "plaintext" && hasTlsInspector ? "tls" : "raw_buffer";
  const criteria: readonly ((chains: readonly JsonObject[]) => readonly JsonObject[])[] = [
    (chains) => narrow(chains, (match) => scoreOf(textAt(match, "destinationPort"), String(call.Port))),
    (chains) => narrow(chains, (match) => rangeScore(objectsAt(match, "prefixRanges"), call.Address)),
    (chains) => narrow(chains, (match) => nameScore(textsAt(match, "serverNames"), hasTlsInspector ? call.Sni : "")),
    (chains) => narrow(chains, (match) => scoreOf(textAt(match, "transportProtocol"), transport)),
    (chains) => narrow(chains, (match) => listScore(textsAt(match, "applicationProtocols"), call.Alpn)),
  ];
  const found = criteria.reduce((chains, criterion) => criterion(chains), objectsAt(listener, "filterChains"));
  const [chain, ...others] = found;
  if (others.length > 0) return { error: "multiple filter chains matched" };
  if (chain !== undefined) return { chain };
  const fallback = at(listener, "defaultFilterChain") as JsonObject | undefined;
  return fallback === undefined ? { error: "no filter chains matched" } : { chain: fallback };
}

/** Keeps the chains of the highest score; a negative one is no match, 0 means that the chain does not ask. */
function narrow(chains: readonly JsonObject[], score: (match: JsonValue | undefined) => number): readonly JsonObject[] {
  const scored = chains.map((chain) => ({ chain, score: score(at(chain, "filterChainMatch")) }));
  const best = Math.max(0, ...scored.map(({ score }) => score));
  return scored.filter(({ score }) => score === best).map(({ chain }) => chain);
}

function scoreOf(wanted: string, actual: string): number {
  return wanted === "" ? 0 : wanted === actual ? 1 : -1;
}

function listScore(wanted: readonly string[], actual: string): number {
  return wanted.length === 0 ? 0 : wanted.includes(actual) ? 1 : -1;
}

function nameScore(names: readonly string[], sni: string): number {
  if (names.length === 0) return 0;
  const scores = names.map((name) => {
    if (name === sni) return 10_000;
    return name.startsWith("*.") && sni.endsWith(name.slice(1)) ? name.length : -1;
  });
  return Math.max(...scores);
}

function rangeScore(ranges: readonly JsonObject[], address: string): number {
  if (ranges.length === 0) return 0;
  const scores = ranges.map((range) => {
    const length = Number(textAt(range, "prefixLen") || "0");
    return isInRange(address, textAt(range, "addressPrefix"), length) ? length + 1 : -1;
  });
  return Math.max(...scores);
}

function isInRange(address: string, prefix: string, length: number): boolean {
  const [bits, range] = [rangeBits(address), rangeBits(`${prefix}/${length}`)];
  return range !== undefined && bits?.startsWith(range) === true;
}
