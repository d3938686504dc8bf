/** Describes the listener and the filter chain that take a connection, with the mode of mutual TLS. */
import type { JsonObject } from "@flotilla/proto";
import type { FullCall } from "./call.ts";
import { at, objectsAt, textAt, textsAt } from "./json.ts";
import type { Meeting } from "./meet.ts";

export function listenerFacts(listener: JsonObject, { CallMode, Address, Port }: FullCall): readonly string[] {
  const [address, port] = ["address", "portValue"].map((key) => textAt(listener, "address", "socketAddress", key));
  if (CallMode === "inbound") return ["It takes all connections to the workload."];
  if (address === Address && port === String(Port)) return [`It takes connections to ${Address}:${Port}.`];
  if (port === String(Port)) return [`It takes connections to port ${Port} of any address.`];
  return [`No listener is for ${Address}:${Port}: it takes connections that no other one takes.`];
}

/** Sentences about the filter chain: what it asked for, what is done with TLS, and why none takes the connection. */
export function describeListening(met: Meeting): readonly string[] {
  const { listener, chain, outcome, call } = met;
  const mode = call.CallMode === "inbound" && listener !== undefined ? mutualTlsFacts(listener, call.Port) : [];
  if (chain === undefined) {
    const carried = call.TLS === "plaintext" ? "plain text" : call.TLS === "mtls" ? "mutual TLS" : "TLS";
    return [`No filter chain takes ${carried} on port ${call.Port}${sniText(call)}.`, ...mode];
  }
  return [...conditions(chain, call), ...tlsFacts(met), ...mode, ...errorFacts(outcome.error)];
}

function sniText({ Sni, TLS }: FullCall): string {
  return TLS === "plaintext" || Sni === "" ? "" : ` for ${Sni}`;
}

function conditions(chain: JsonObject, { Port }: FullCall): readonly string[] {
  const match = at(chain, "filterChainMatch");
  const port = textAt(match, "destinationPort");
  const asked = [
    port === "" ? "" : `port ${Port}`,
    namesText("server name", textsAt(match, "serverNames")),
    namesText("protocol", textsAt(match, "applicationProtocols")),
    textAt(match, "transportProtocol") === "tls" ? "TLS" : "",
    textAt(match, "transportProtocol") === "raw_buffer" ? "plain text" : "",
    objectsAt(match, "prefixRanges").length > 0 ? "the address" : "",
  ].filter((one) => one !== "");
  return asked.length === 0 ? [] : [`Matched: ${asked.join(", ")}.`];
}

function namesText(what: string, names: readonly string[]): string {
  return names.length === 0 ? "" : `${what} ${names.slice(0, 4).join(" or ")}`;
}

function tlsFacts({ chain, call }: Meeting): readonly string[] {
  const context = at(chain, "transportSocket", "typedConfig");
  if (context === undefined) return call.TLS === "plaintext" ? [] : ["TLS is passed on as it is."];
  const isMutual = at(context, "requireClientCertificate") === true;
  return [isMutual ? "It ends TLS and asks the caller for a certificate." : "It ends TLS."];
}

function errorFacts(error: string | undefined): readonly string[] {
  switch (error) {
    case "invalid TLS":
      return ["It expects TLS: the plain text of the caller is refused."];
    case "invalid mTLS":
      return ["The caller's certificate and the one that is asked for do not fit."];
    case "protocol error":
      return ["It expects HTTP, and cannot read this connection as such."];
    default:
      return [];
  }
}

/** The mode in effect on a port, by the filter chains for it. */
function mutualTlsMode(listener: JsonObject, port: number): "STRICT" | "PERMISSIVE" | "DISABLE" {
  const all = objectsAt(listener, "filterChains");
  const own = all.filter((one) => textAt(one, "filterChainMatch", "destinationPort") === String(port));
  // Ports of no Service have the chains without a port.
  const chains = own.length > 0 ? own : all.filter((one) => textAt(one, "filterChainMatch", "destinationPort") === "");
  const isTls = (chain: JsonObject) => textAt(chain, "filterChainMatch", "transportProtocol") === "tls";
  const takesMutual = chains.some(
    (one) => at(one, "transportSocket", "typedConfig", "requireClientCertificate") === true,
  );
  if (!takesMutual) return "DISABLE";
  return chains.every(isTls) ? "STRICT" : "PERMISSIVE";
}

function mutualTlsFacts(listener: JsonObject, port: number): readonly string[] {
  return [`Mutual TLS is ${mutualTlsMode(listener, port)} on port ${port}.`];
}
