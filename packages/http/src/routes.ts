/** Requests of a service's HTTP page and their routes: exact paths, or everything below one (`/debug/config/*`). */
import type { IncomingMessage } from "node:http";

/** A request whose body has been read. */
export interface HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Uint8Array;
  /** The peer's address, for pages that only the own host may see. */
  readonly remoteAddress: string;
}

/**
 * The path and the query of a request. Several slashes at the beginning count as one, as they do for Go's servers: istioctl asks for
 * `//version`, which WHATWG's rules take for a host.
 */
export function requestUrl({ url = "/" }: Pick<IncomingMessage, "url">): Pick<URL, "pathname" | "searchParams"> {
  return new URL(url.replace(/^\/+/, "/"), "http://localhost");
}

/** An answer as JSON, as text or as bytes. */
export type HttpReply =
  | { readonly status?: number; readonly json: unknown }
  | {
      readonly status?: number;
      readonly text: string;
      readonly contentType?: string;
      /** Where the answer is instead, with a status such as 307. */
      readonly location?: string;
    };

/** Answers a request; a rejection becomes status 500 and a log line. */
export type HttpHandler = (request: HttpRequest) => HttpReply | Promise<HttpReply>;
/** The methods that routes are registered for. */
export type HttpMethod = "GET" | "POST" | "PUT" | "DELETE";

/** A handler with its method and path; a path may end in `/*`. */
export interface Route {
  readonly method: HttpMethod;
  readonly path: string;
  readonly handler: HttpHandler;
}

/** A mistake in the use of this package; the message is `[CODE] what failed, with which value`. */
class HttpError extends Error {
  override readonly name = "HttpError";
  readonly code: "ROUTE_TAKEN";

  constructor(code: "ROUTE_TAKEN", message: string) {
    super(`[${code}] ${message}`);
    this.code = code;
  }
}

/** Finds the route of a request; an exact path goes before a wildcard. */
export class RouteTable {
  readonly #routes: Route[] = [];

  /** @throws HttpError ROUTE_TAKEN */
  add(route: Route): void {
    if (this.#routes.some((other) => other.path === route.path && other.method === route.method)) {
      throw new HttpError("ROUTE_TAKEN", `${route.method} ${route.path} has a handler already`);
    }
    this.#routes.push(route);
  }

  find(method: string, path: string): Route | undefined {
    const wanted = method === "HEAD" ? "GET" : method;
    const candidates = this.#routes.filter((route) => route.method === wanted);
    return candidates.find((route) => route.path === path) ?? candidates.find((route) => isBelow(route.path, path));
  }

  paths(): readonly string[] {
    return this.#routes.map(({ method, path }) => (method === "GET" ? path : `${method} ${path}`)).sort();
  }
}

function isBelow(pattern: string, path: string): boolean {
  return pattern.endsWith("/*") && path.startsWith(pattern.slice(0, -1));
}
