/**
 * Forward proxies by the usual variables, in Go's reading, as istiod has them: HTTPS_PROXY and HTTP_PROXY by the scheme of what is asked for,
 * but for hosts that NO_PROXY lists and for this host itself.
 */
import { type ClientRequest, type OutgoingHttpHeaders, type RequestOptions, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { BlockList, isIP, isIPv4, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import { parseRange } from "./address-rules.ts";
import { notAsked, unreachable } from "./key-errors.ts";

export interface ForwardProxies {
  readonly https: string | undefined;
  readonly http: string | undefined;
  /** Hosts, domains (`.example` for those below alone), addresses and ranges, each with or without a port; `*` for everything. */
  readonly except: readonly string[];
}

/** Undefined for what is asked directly. */
export type ProxyOf = (url: URL) => string | undefined;

/** @throws Error for what is no proxy of HTTP */
export function proxyOf({ https, http, except }: ForwardProxies): ProxyOf {
  const [ofHttps, ofHttp] = [https, http].map((given) => given && proxyUrl(given));
  const isExcepted = exceptions(except.map((one) => one.trim().toLowerCase()).filter((one) => one !== ""));
  return (url) => {
    const proxy = url.protocol === "https:" ? ofHttps : ofHttp;
    return proxy !== undefined && !isExcepted(hostOf(url), portOf(url)) ? proxy : undefined;
  };
}

/** A host and a port alone mean a proxy in plain text. */
export function proxyUrl(given: string): string {
  const text = given.includes("://") ? given : `http://${given}`;
  const url = URL.parse(text);
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:"))
    throw new Error("is no URL of a proxy such as http://proxy.example:3128");
  // Throws where user or password are not written as URLs have them.
  authorization(url);
  return text;
}

function hostOf(url: URL): string {
  return addressIn(url).replace(/\.$/, "");
}

/** The host, as an address where it is one. */
export function addressIn({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, "$1");
}

function portOf({ port, protocol }: URL): string {
  return port || (protocol === "https:" ? "443" : "80");
}

type Exception = (host: string, port: string) => boolean;

function exceptions(texts: readonly string[]): Exception {
  const all = [isThisHost, ...texts.map(exception)];
  return (host, port) => all.some((one) => one(host, port));
}

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8);
loopback.addAddress("::1", "ipv6");

function isThisHost(host: string): boolean {
  return host === "localhost" || isWithin(loopback, host);
}

function isWithin(list: BlockList, host: string): boolean {
  return isIP(host) > 0 && list.check(host, isIPv4(host) ? "ipv4" : "ipv6");
}

function exception(text: string): Exception {
  if (text === "*") return () => true;
  if (text.includes("/")) return ofRange(text);
  const [, name = text, port] = (isIP(text) > 0 ? undefined : /^\[?([^\]]*)\]?:(\d+)$/.exec(text)) ?? [];
  const plain = name.replace(/^\*(?=\.)/, "");
  const below = plain.startsWith(".") ? plain : `.${plain}`;
  return (host, asked) => (port === undefined || port === asked) && (host === plain || host.endsWith(below));
}

function ofRange(text: string): Exception {
  const range = parseRange(text);
  if (range === undefined) return () => false;
  const list = new BlockList();
  list.addSubnet(range.address, range.bits, range.family);
  return (host) => isWithin(list, host);
}

export interface DocumentRequest {
  readonly headers: OutgoingHttpHeaders;
  /** Of who is asked over TLS. */
  readonly tls: Pick<ConnectionOptions, "ca" | "minVersion">;
  readonly signal: AbortSignal;
}

/** Called once; the caller listens to the request from its first moment. */
export type OpenRequest = () => ClientRequest;

/** The proxy asks in plain text what is in plain text, and opens a tunnel for TLS. @throws IssuerKeysError where it opens none */
export async function requestThrough(
  proxyText: string,
  url: URL,
  { headers, tls, signal }: DocumentRequest,
): Promise<OpenRequest> {
  const proxy = new URL(proxyText);
  if (url.protocol === "http:") {
    const asked = { path: url.href, headers: { ...headers, host: url.host, ...authorization(proxy) } };
    return () => sendTo(proxy, { ...asked, agent: false as const, signal });
  }
  const socket = await tunnel(proxy, `${url.hostname}:${portOf(url)}`, signal);
  const host = addressIn(url);
  const servername = isIP(host) > 0 ? "" : host;
  return () =>
    requestHttps(url, { headers, signal, createConnection: () => connectTls({ ...tls, socket, host, servername }) });
}

function tunnel(proxy: URL, authority: string, signal: AbortSignal): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const headers = { host: authority, ...authorization(proxy) };
  const request = sendTo(proxy, { method: "CONNECT", path: authority, headers, agent: false as const, signal });
  request.once("connect", ({ statusCode = 0 }, socket: Socket) => {
    if (statusCode === 200) return resolve(socket);
    socket.destroy();
    reject(unreachable(`is not reached by the proxy, which answers with status ${statusCode}`));
  });
  request.once("error", (error) => reject(notAsked(error)));
  request.end();
  return promise;
}

function sendTo(proxy: URL, options: RequestOptions): ClientRequest {
  const { protocol, port } = proxy;
  const send = protocol === "https:" ? requestHttps : requestHttp;
  return send({ ...options, protocol, host: addressIn(proxy), port: port || portOf(proxy) });
}

function authorization({ username, password }: URL): OutgoingHttpHeaders {
  if (username === "") return {};
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { "proxy-authorization": `Basic ${Buffer.from(credentials).toString("base64")}` };
}
