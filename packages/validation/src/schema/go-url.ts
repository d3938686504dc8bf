/**
 * URLs as Go's net/url reads them, which the API server and Istio judge by: more is a URL there than by the WHATWG standard (`foo/bar` has
 * a path and no scheme), and other things are refused. CEL's `isURL` accepts the input of `url.ParseRequestURI`: an absolute URI or an
 * absolute path.
 */

export interface UrlParts {
  readonly scheme: string;
  /** With the port, as written. */
  readonly host: string;
  readonly hostname: string;
  readonly port: string;
  readonly path: string;
}

export interface UrlFailure {
  /** As Go prints it. */
  readonly failure: string;
}

/** An absolute URI, or a path that begins with a slash. */
export function parseUrl(text: string): UrlParts | UrlFailure {
  const reason = refusal(text);
  if (reason !== undefined) return { failure: `parse ${JSON.stringify(text)}: ${reason}` };
  const scheme = schemeOf(text) ?? "";
  const rest = text.slice(scheme === "" ? 0 : scheme.length + 1);
  const { 1: authority = "", 2: path = "" } = /^(?:\/\/([^/?]*))?([^?]*)/.exec(rest) ?? [];
  const host = authority.slice(authority.lastIndexOf("@") + 1);
  const { 1: hostname = host, 2: port = "" } = /^(.*?)(?::(\d*))?$/.exec(host) ?? [];
  return { scheme: scheme.toLowerCase(), host, hostname: hostname.replace(/^\[(.*)\]$/, "$1"), port, path };
}

function refusal(text: string): string | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  if (/[\u0000-\u001f\u007f]/.test(text)) return "net/url: invalid control character in URL";
  if (text === "") return "empty url";
  if (text.startsWith(":")) return "missing protocol scheme";
  const scheme = schemeOf(text);
  const rest = scheme === undefined ? text : text.slice(scheme.length + 1);
  if (!rest.startsWith("/") && scheme === undefined) return "invalid URI for request";
  const { 1: authority = "" } = /^\/\/([^/?]*)/.exec(scheme === undefined ? "" : rest) ?? [];
  const host = authority.slice(authority.lastIndexOf("@") + 1);
  const afterBrackets = host.slice(host.lastIndexOf("]") + 1);
  const badPort = afterBrackets.includes(":") ? afterBrackets.slice(afterBrackets.indexOf(":")) : ":";
  if (!/^:\d*$/.test(badPort)) return `invalid port ${JSON.stringify(badPort)} after host`;
  const badHost = /[\s"<>\\^`{|}]/.exec(host)?.[0];
  if (badHost !== undefined) return `invalid character ${JSON.stringify(badHost)} in host name`;
  const badEscape = /%(?![0-9A-Fa-f]{2}).{0,2}/.exec(rest.split("?", 1)[0] ?? "")?.[0];
  return badEscape === undefined ? undefined : `invalid URL escape ${JSON.stringify(badEscape)}`;
}

function schemeOf(text: string): string | undefined {
  return /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(text)?.[1];
}
