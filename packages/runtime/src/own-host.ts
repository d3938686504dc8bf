/** Pages for callers of this host only: those who may run a program here, or forward a port to here. */
import { BlockList, isIP, isIPv6 } from "node:net";
import { hostname } from "node:os";
import type { HttpHandler, HttpRequest } from "@flotilla/http";
import { flag, list } from "./settings/kinds.ts";

/** The accounts that may change something over pages. */
export const pageWriterSetting = {
  pageWriters: list({
    env: "PAGE_WRITERS",
    default: ["istio-system/flotilla-admin"],
    sentence: "Service accounts that may change log levels over the debug pages, as namespace/name.",
  }),
} as const;

/** For services all of whose debug pages are such. */
export const ownHostSettings = {
  debugAuth: flag({
    env: "ENABLE_DEBUG_ENDPOINT_AUTH",
    default: true,
    sentence: "Debug pages answer callers of this host only.",
  }),
  ...pageWriterSetting,
} as const;

const own = new BlockList();
own.addSubnet("127.0.0.0", 8, "ipv4");
own.addAddress("::1", "ipv6");

/** `address`: without a port. A dual-stack socket shows IPv4 callers as `::ffff:a.b.c.d`. */
export function isOwnHost(address: string): boolean {
  const plain = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address;
  return own.check(plain, isIPv6(plain) ? "ipv6" : "ipv4");
}

/**
 * True where a caller of this host sent a request to this host. A web page in a browser of this host is neither: by a name of its own whose
 * address becomes 127.0.0.1 (DNS rebinding) it reaches pages and may read them, but the request names its host.
 */
export function isFromOwnHost({ remoteAddress, headers }: Pick<HttpRequest, "remoteAddress" | "headers">): boolean {
  return isOwnHost(remoteAddress) && namesThisHost(String(headers["host"] ?? ""));
}

/** @param host as the header has it; HTTP/1.0 needs none */
function namesThisHost(host: string): boolean {
  const name = host.replace(/:\d*$/, "").replace(/^\[(.*)\]$/, "$1");
  return name === "" || isIP(name) > 0 || /^(.+\.)?localhost\.?$/i.test(name) || name === hostname();
}

/** `isOn` false: the page is for everybody. */
export function forOwnHost(isOn: boolean, handler: HttpHandler): HttpHandler {
  return (request) =>
    !isOn || isFromOwnHost(request)
      ? handler(request)
      : { status: 403, json: { error: "this page answers callers of its own host only" } };
}
