/** Reads the request whose way is asked for from the query of the endpoint. */
import { isIpAddress } from "@flotilla/model";
import type { Call } from "@flotilla/traffic";
import { RequestRefused } from "../../errors.ts";
import { required } from "../../serve/endpoint.ts";

export interface AskedRequest {
  readonly from: string;
  /** Without its address, which the proxy's name table may give. */
  readonly call: Call;
  readonly host: string;
  readonly address: string | undefined;
}

const parameters: ReadonlySet<string> = new Set([
  ...["from", "host", "port", "protocol", "method", "path", "headers", "claims", "address"],
]);
const maxHeaders = 100;
const headerName = /^[a-z0-9!#$%&'*+.^_`|~-]+$/;
/** Their values are credentials, which have no place in an address. */
const secretHeaders: ReadonlySet<string> = new Set(["authorization", "proxy-authorization"]);

type Transport = Required<Pick<Call, "Protocol" | "TLS">>;

const protocols: ReadonlyMap<string, Transport> = new Map<string, Transport>([
  ["http", { Protocol: "http", TLS: "plaintext" }],
  ["http2", { Protocol: "http2", TLS: "plaintext" }],
  ["https", { Protocol: "http", TLS: "tls" }],
  ["tcp", { Protocol: "tcp", TLS: "plaintext" }],
  ["tls", { Protocol: "tcp", TLS: "tls" }],
]);

/** @throws RequestRefused bad-request */
export function askedRequest(query: URLSearchParams): AskedRequest {
  for (const name of query.keys()) if (!parameters.has(name)) throw refused(`there is no parameter ${name}`);
  const protocol = query.get("protocol") || "http";
  const transport = protocols.get(protocol);
  if (transport === undefined) throw refused(`protocol is one of ${[...protocols.keys()].join(", ")}`);
  const isTls = transport.TLS === "tls";
  const host = required(query, "host");
  const claims = claimsOf(query.get("claims") || "");
  const address = query.get("address") || undefined;
  if (address !== undefined && !isIpAddress(address)) throw refused("address is an IP address");
  const { host: named = host, ...Headers } = headersOf(query.get("headers") || "");
  return {
    ...{ from: required(query, "from"), host, address },
    call: {
      ...transport,
      ...{ Port: portOf(query.get("port") || (isTls ? "443" : "80")), HostHeader: named, Headers },
      ...{
        Sni: isTls ? host : "",
        Method: (query.get("method") || "GET").toUpperCase(),
        Path: pathOf(query.get("path") || "/"),
      },
      ...(claims !== undefined && { Claims: claims as NonNullable<Call["Claims"]> }),
    },
  };
}

function refused(message: string): RequestRefused {
  return new RequestRefused("bad-request", message);
}

function portOf(text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port < 1 || port > 65_535) throw refused("port is a number from 1 to 65535");
  return port;
}

function pathOf(text: string): string {
  if (!text.startsWith("/")) throw refused("path begins with /");
  return text;
}

/** Names in lower case; lines that are empty are left out. */
function headersOf(text: string): Readonly<Record<string, string>> {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  if (lines.length > maxHeaders) throw refused(`at most ${maxHeaders} headers are evaluated`);
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(":", 1);
    const name = line.slice(0, Math.max(0, colon)).trim().toLowerCase();
    if (!headerName.test(name)) throw refused(`${JSON.stringify(line)} is no header: write NAME: VALUE`);
    if (secretHeaders.has(name)) throw refused(`${name} is not taken: give the claims of the token instead`);
    return [name, line.slice(colon + 1).trim()];
  });
  return Object.fromEntries(headers);
}

function claimsOf(text: string): Readonly<Record<string, unknown>> | undefined {
  if (text.trim() === "") return undefined;
  try {
    const claims = JSON.parse(text) as unknown;
    if (typeof claims === "object" && claims !== null && !Array.isArray(claims))
      return claims as Record<string, unknown>;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw refused('claims are a JSON object, such as {"iss":"https://issuer.example","sub":"me"}');
}
