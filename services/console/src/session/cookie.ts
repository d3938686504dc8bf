/** The cookie that names a session, and where a request that changes something may come from. */
import type { IncomingHttpHeaders } from "node:http";
import { RequestRefused } from "../errors.ts";

/** Cookies are shared by the ports of a host: the name has the port, so that consoles side by side keep their sessions. */
export interface CookieName {
  readonly name: string;
  readonly isSecure: boolean;
}

/** `__Host-`: browsers take it over HTTPS only, for this host and the whole of it. */
export function cookieName(port: number, isSecure: boolean): CookieName {
  return { name: `${isSecure ? "__Host-" : ""}flotilla-console-${port}`, isSecure };
}

export function sessionIdIn({ cookie = "" }: IncomingHttpHeaders, { name }: CookieName): string | undefined {
  for (const part of cookie.split(";")) {
    const [key, value] = part.trim().split("=", 2);
    if (key === name && value) return value;
  }
  return undefined;
}

/** Scripts cannot read it, other sites' requests do not carry it. `id` empty: the browser forgets it. */
export function setCookie({ name, isSecure }: CookieName, id: string): string {
  const life = id === "" ? "; Max-Age=0" : "";
  return `${name}=${id}; Path=/; HttpOnly; SameSite=Strict${isSecure ? "; Secure" : ""}${life}`;
}

/**
 * Browsers name the origin of every request that changes something, and since 2023 all of them its relation to the site too. A request
 * with neither comes from no browser of today, and is refused as well: nothing needs it.
 * @throws RequestRefused cross-site
 */
export function expectSameOrigin(headers: IncomingHttpHeaders): void {
  const { origin, host } = headers;
  const site = headers["sec-fetch-site"];
  const isNamed = origin !== undefined || site !== undefined;
  if (!isNamed) throw new RequestRefused("cross-site", "the request names no origin");
  if (site !== undefined && site !== "same-origin")
    throw new RequestRefused("cross-site", "the request comes from another site");
  if (origin !== undefined && hostOf(origin) !== (host ?? "").toLowerCase())
    throw new RequestRefused("cross-site", "the request comes from another origin");
}

/** Reads may come from an address line (`none`), never from another site. @throws RequestRefused cross-site */
export function expectOwnSite(headers: IncomingHttpHeaders): void {
  const site = headers["sec-fetch-site"];
  if (site === "cross-site" || site === "same-site")
    throw new RequestRefused("cross-site", "the request comes from another site");
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}
