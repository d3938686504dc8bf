/**
 * URLs of a Redis or Valkey: one server (`redis://`, `rediss://` with TLS), or the primary that Sentinels name
 * (`redis+sentinel://host1:26379,host2,host3/NAME`, `rediss+sentinel://…`). Options after `?`: `certificates=DIRECTORY`, `ca=FILE`,
 * `passwordFile=FILE` for the user before the host, `sentinelUser`, `sentinelPassword`, `sentinelPasswordFile=FILE`.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { RedisOptions } from "ioredis";
import { StateError } from "./errors.ts";

/** Replies are those of the client's default. */
type Options = Omit<RedisOptions, "replyMapping">;

const forms = /^redis(s?)(\+sentinel)?:\/\//;
const sentinelPort = 26_379;

/** True where the URL names a Redis or Valkey, directly or through Sentinels. */
export function isRedisUrl(url: string): boolean {
  return forms.test(url);
}

/** Address and options of the client's connection. @throws StateError STATE_CONNECT */
export function redisOptions(url: string): Options {
  const [, secure, sentinel] = forms.exec(url) ?? [];
  return sentinel === undefined ? serverOptions(url) : sentinelOptions(url, secure === "s");
}

function serverOptions(url: string): Options {
  const { protocol, hostname, port, username, password, pathname, searchParams } = parse(url, url);
  const database = pathname.slice(1);
  return {
    host: hostname.replace(/^\[|\]$/g, ""),
    port: port === "" ? 6_379 : Number(port),
    ...credentials(username, password, searchParams.get("passwordFile")),
    ...(database !== "" && { db: Number(database) }),
    ...(protocol === "rediss:" && { tls: tlsOf(searchParams) }),
  };
}

function sentinelOptions(url: string, isSecure: boolean): Options {
  const hosts = url.replace(forms, "").replace(/^[^/?]*@/, "");
  const list = /^[^/?]*/.exec(hosts)?.[0] ?? "";
  const addresses = list.split(",").map((address) => parse(`redis://${address.trim()}`, url));
  // The rest is that of a URL with one host.
  const { username, password, pathname, searchParams } = parse(
    url.replace(forms, "redis://").replace(list, "host"),
    url,
  );
  const name = decodeURIComponent(pathname.slice(1));
  if (name === "") throw bad(url, "names no primary: redis+sentinel://host:26379/NAME");
  const user = searchParams.get("sentinelUser") ?? undefined;
  const secretFile = searchParams.get("sentinelPasswordFile");
  const secret = secretFile === null ? searchParams.get("sentinelPassword") : passwordIn(secretFile);
  const tls = tlsOf(searchParams);
  return {
    sentinels: addresses.map(({ hostname, port }) => ({
      host: hostname.replace(/^\[|\]$/g, ""),
      port: port === "" ? sentinelPort : Number(port),
    })),
    name,
    ...credentials(username, password, searchParams.get("passwordFile")),
    ...(user !== undefined && { sentinelUsername: user }),
    ...(secret !== null && { sentinelPassword: secret }),
    ...(isSecure && { tls, sentinelTLS: tls, enableTLSForSentinelMode: true }),
    // A failover is followed when Sentinel announces it, also while the old primary still answers.
    failoverDetector: true,
    // The URL lists all Sentinels; one of them may report addresses of others that certificates do not name.
    updateSentinels: false,
    // A Sentinel that hangs is passed over.
    sentinelCommandTimeout: 2_000,
    connectTimeout: 5_000,
  };
}

function credentials(username: string, password: string, file: string | null): Options {
  const secret = file === null ? decodeURIComponent(password) : passwordIn(file);
  return {
    ...(username !== "" && { username: decodeURIComponent(username) }),
    ...(secret !== "" && { password: secret }),
  };
}

function passwordIn(file: string): string {
  try {
    return readFileSync(file, "utf8").trim();
  } catch (cause) {
    throw new StateError("STATE_CONNECT", `the password in ${file} cannot be read`, { cause });
  }
}

/**
 * `certificates` is a directory with tls.crt, tls.key and ca.crt, as in a Secret of type kubernetes.io/tls; `ca` a file with the roots
 * alone. Getters: the client copies the options for each connection, and the files are renewed meanwhile.
 */
function tlsOf(options: URLSearchParams) {
  const directory = options.get("certificates");
  const roots = options.get("ca") ?? (directory === null ? null : join(directory, "ca.crt"));
  const last = new Map<string, string>();
  const text = (path: string): string | undefined => {
    try {
      last.set(path, readFileSync(path, "utf8"));
    } catch {
      // The client would never connect again after an exception here; without the file the server refuses, and it tries again.
    }
    return last.get(path);
  };
  const tls = {};
  if (roots !== null) Object.defineProperty(tls, "ca", { enumerable: true, get: () => text(roots) });
  if (directory === null) return tls;
  return Object.defineProperties(tls, {
    cert: { enumerable: true, get: () => text(join(directory, "tls.crt")) },
    key: { enumerable: true, get: () => text(join(directory, "tls.key")) },
  });
}

function parse(text: string, url: string): URL {
  if (!URL.canParse(text) || new URL(text).host === "") throw bad(url, "is not redis://host:port");
  return new URL(text);
}

function bad(url: string, reason: string): StateError {
  return new StateError("STATE_CONNECT", `"${url.replace(/\/\/[^/]*@/, "//").replace(/\?.*/, "")}" ${reason}`);
}
