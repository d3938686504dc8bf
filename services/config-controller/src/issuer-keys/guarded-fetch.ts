/**
 * Reads a document by a URI that stands in an object: bounded in time, size and redirects, and only from addresses that are allowed.
 * Names are resolved once, and the connection goes to an address that was checked: a name that changes in between leads nowhere else.
 * Through a forward proxy names are resolved there: it decides where they may lead, and addresses that stand in the URI are checked here.
 */
import { lookup as lookupName } from "node:dns/promises";
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { orAborted, timeLimit } from "@flotilla/runtime";
import type { AddressRules } from "./address-rules.ts";
import { addressIn, type DocumentRequest, type OpenRequest, type ProxyOf, requestThrough } from "./forward-proxy.ts";
import { IssuerKeysError, notAsked, unreachable, unusable } from "./key-errors.ts";

export interface GuardedFetchOptions {
  readonly rules: AddressRules;
  /** PEM; all that servers may be vouched for by. */
  readonly roots: readonly string[];
  /** Everything is asked directly unless given. */
  readonly proxyOf?: ProxyOf;
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
  const response = await answerTo(await openerOf(url, options, until));
  try {
    const { statusCode = 0, headers } = response;
    if (statusCode >= 300 && statusCode < 400 && headers.location !== undefined) return { location: headers.location };
    if (statusCode < 200 || statusCode > 299) throw unusable(`answers with status ${statusCode}`);
    return { text: await readBounded(response, options.maxBytes ?? usualMaxBytes) };
  } finally {
    response.destroy();
  }
}

/** A proxy's names are resolved there; an address is checked here. */
async function openerOf(url: URL, options: GuardedFetchOptions, until: AbortSignal): Promise<OpenRequest> {
  const headers = { accept: "application/json", "accept-encoding": "identity", "user-agent": "flotilla" };
  const tls = { ca: [...options.roots], minVersion: "TLSv1.2" as const };
  const request = { headers, tls, signal: until };
  const proxy = options.proxyOf?.(url);
  const isResolvedThere = proxy !== undefined && isIP(addressIn(url)) === 0;
  const addresses = isResolvedThere ? [] : await allowedAddresses(url, options, until);
  return proxy === undefined ? () => requestDirectly(url, addresses, request) : requestThrough(proxy, url, request);
}

async function allowedAddresses(
  url: URL,
  { rules, resolve = systemResolve }: GuardedFetchOptions,
  until: AbortSignal,
): Promise<readonly string[]> {
  const host = addressIn(url);
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

function requestDirectly(url: URL, addresses: readonly string[], { headers, tls, signal }: DocumentRequest) {
  const lookup: LookupFunction = (_host, { all }, callback) => {
    const found = addresses.map((address) => ({ address, family: isIP(address) }));
    const [first = { address: "", family: 0 }] = found;
    if (all === true) callback(null, found);
    else callback(null, first.address, first.family);
  };
  // A connection of its own: one that is kept would lead to an address that was checked long ago.
  const common = { agent: false as const, lookup, headers, signal };
  return url.protocol === "https:" ? requestHttps(url, { ...common, ...tls }) : requestHttp(url, common);
}

function answerTo(open: OpenRequest): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = open();
  request.once("response", resolve);
  request.once("error", (error) => reject(notAsked(error)));
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
