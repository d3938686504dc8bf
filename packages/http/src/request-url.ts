import type { IncomingMessage } from "node:http";

/**
 * The path and the query of a request. Several slashes at the beginning count as one, as they do for Go's servers: istioctl asks for
 * `//version`, which WHATWG's rules take for a host.
 */
export function requestUrl({ url = "/" }: Pick<IncomingMessage, "url">): Pick<URL, "pathname" | "searchParams"> {
  return new URL(url.replace(/^\/+/, "/"), "http://localhost");
}
