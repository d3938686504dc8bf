/**
 * Reads a document by a URI that stands in an object: bounded in time, size and redirects, and only from addresses that are allowed.
 * Names are resolved once, and the connection goes to an address that was checked: a name that changes in between leads nowhere else.
 */
import { lookup as lookupName } from "node:dns/promises";
import { type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { orAborted, timeLimit } from "@flotilla/runtime";
import type { AddressRules } from "./address-rules.ts";
import { IssuerKeysError, unreachable, unusable } from "./key-errors.ts";

export interface GuardedFetchOptions {
  readonly rules: AddressRules;
  /** PEM; all that servers may be vouched for by. */
  readonly roots: readonly string[];
  /** All addresses of a name; the system's resolver unless given. */
  readonly resolve?: (host: string) => Promise<readonly string[]>;
  readonly maxBytes?: number;
  readonly maxRedirects?: number;
}

export type FetchDocument = (uri: string, timeoutMs: number, stop: AbortSignal) => Promise<string>;

/** Sets of real issuers have 1 to 30 KB. The whole set is part of listeners and of a message on the bus. */
const usualMaxBytes = 131_072;

/** The function throws IssuerKeysError. */
export function guardedFetch(options: GuardedFetchOptions): FetchDocument {
  const { maxRedirects = 3 } = options;
  return async (uri, timeoutMs, stop) => {
    using limit = timeLimit(timeoutMs, stop);
    const until = limit.signal;
    try {
      let url = urlOf(uri, undefined);
      for (let redirects = 0; ; redirects++) {
        const answer = await ask(url, options, until);
        if ("text" in answer) return answer.text;
        if (redirects === maxRedirects) throw unusable(`is redirected more than ${maxRedirects} times`);
        url = urlOf(answer.location, url);
      }
    } catch (error) {
      if (until.aborted && !stop.aborted) throw unreachable(`did not answer within ${timeoutMs} ms`, error);
      throw error;
    }
  };
}

/** Once asked over TLS, nothing is asked without. */
function urlOf(text: string, before: URL | undefined): URL {
  const url = URL.parse(text, before?.href);
  if (url === null) throw unusable(before === undefined ? "is no URL" : "is redirected to what is no URL");
  if (url.protocol !== "https:" && url.protocol !== "http:") throw unusable(`has the scheme ${url.protocol}`);
  if (before?.protocol === "https:" && url.protocol === "http:") throw unusable("is redirected from https to http");
  if (url.username !== "" || url.password !== "") throw unusable("holds a user or a password");
  return url;
}

type Answer = { readonly text: string } | { readonly location: string };

async function ask(url: URL, options: GuardedFetchOptions, until: AbortSignal): Promise<Answer> {
  const addresses = await allowedAddresses(url, options, until);
  const response = await send(url, addresses, options, until);
  try {
    const { statusCode = 0, headers } = response;
    if (statusCode >= 300 && statusCode < 400 && headers.location !== undefined) return { location: headers.location };
    if (statusCode < 200 || statusCode > 299) throw unusable(`answers with status ${statusCode}`);
    return { text: await readBounded(response, options.maxBytes ?? usualMaxBytes) };
  } finally {
    response.destroy();
  }
}

async function allowedAddresses(
  { hostname }: URL,
  { rules, resolve = systemResolve }: GuardedFetchOptions,
  until: AbortSignal,
): Promise<readonly string[]> {
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  const all = isIP(host) > 0 ? [host] : await orAborted(resolve(host), until).catch(nameProblem);
  const allowed = all.filter((address) => rules.isAllowed(address));
  if (allowed.length === 0)
    throw unreachable("has only addresses that are private, of this host, or not allowed (ALLOWED_CIDRS_IN_JWKS_URIS)");
  return allowed;
}

/** The resolver does not support abort, so it is not waited for. */
function nameProblem(cause: unknown): never {
  throw unreachable("has a host without an address", cause);
}

async function systemResolve(host: string): Promise<readonly string[]> {
  return (await lookupName(host, { all: true })).map(({ address }) => address);
}

function send(
  url: URL,
  addresses: readonly string[],
  { roots }: GuardedFetchOptions,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const lookup: LookupFunction = (_host, { all }, callback) => {
    const found = addresses.map((address) => ({ address, family: isIP(address) }));
    const [first = { address: "", family: 0 }] = found;
    if (all === true) callback(null, found);
    else callback(null, first.address, first.family);
  };
  const headers = { accept: "application/json", "accept-encoding": "identity", "user-agent": "flotilla" };
  // A connection of its own: one that is kept would lead to an address that was checked long ago.
  const common = { agent: false as const, lookup, headers, signal };
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request: ClientRequest =
    url.protocol === "https:"
      ? requestHttps(url, { ...common, ca: [...roots], minVersion: "TLSv1.2" })
      : requestHttp(url, common);
  request.once("response", resolve);
  request.once("error", (error: NodeJS.ErrnoException) =>
    reject(unreachable(`cannot be asked: ${error.code ?? error.message}`, error)),
  );
  request.end();
  return promise;
}

async function readBounded(response: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of response as AsyncIterable<Uint8Array>) {
      size += chunk.byteLength;
      if (size > maxBytes) throw unusable(`answers with more than ${maxBytes} bytes`);
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof IssuerKeysError) throw error;
    throw unreachable("ends its answer too early", error);
  }
  return Buffer.concat(chunks).toString("utf8");
}
