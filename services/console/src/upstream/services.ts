/**
 * Requests to the pages of the services, with the token of the caller. A service that does not answer in time, or refuses, is an ordinary
 * result: answers name it, and hold the answers of the others.
 */
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import type { AwayReason, AwayService, ServiceName } from "@flotilla/console/contract";
import { RuntimeError } from "@flotilla/runtime";
import { codeOf, RequestRefused } from "../errors.ts";
import type { Settings } from "../settings.ts";

/** A replica of a service, or a name behind which several stand. */
export interface Address {
  readonly name: string;
  readonly url: string;
}

export type Addresses = Readonly<Record<Exclude<ServiceName, "console">, readonly Address[]>>;

export interface Question {
  readonly path: string;
  /** Absent for pages that anybody may see. */
  readonly token?: string;
  readonly query?: URLSearchParams | Readonly<Record<string, string | undefined>>;
  readonly method?: "GET" | "PUT";
  readonly body?: unknown;
  /** The text as it is. */
  readonly isText?: boolean;
}

export type Answer<T> =
  | { readonly isAnswered: true; readonly value: T; readonly replica: string }
  | {
      readonly isAnswered: false;
      readonly away: AwayService;
      /** Of an answer that is a refusal; absent where none came. */
      readonly status?: number;
    };

export interface Services {
  /** Replicas as their names resolve now. */
  replicas(service: ServiceName): Promise<readonly Address[]>;
  /** Of the first replica that has an answer; a 404 is asked of the next one, since a proxy is known to its replica. */
  first<T>(service: ServiceName, question: Question): Promise<Answer<T>>;
  /** Of every replica. */
  all<T>(service: ServiceName, question: Question): Promise<readonly Answer<T>[]>;
  at<T>(service: ServiceName, replica: Address, question: Question): Promise<Answer<T>>;
}

export interface ServicesOptions {
  readonly addresses: Addresses;
  readonly timeoutMs: number;
}

/** Where the services are. @throws RuntimeError SETTINGS_INVALID */
export function addressesOf(settings: Settings): Addresses {
  const of = (service: string, given: readonly string[]) => given.map((text) => addressOf(service, text, given.length));
  return {
    "config-controller": of("config-controller", settings.configControllerPages),
    "service-controller": of("service-controller", settings.serviceControllerPages),
    "xds-server": of("xds-server", settings.xdsServerPages),
    ca: of("ca", settings.caPages),
    webhook: of("webhook", settings.webhookPages),
  };
}

/** `URL` or `NAME=URL`; without a name, that of the service, or its host where there are several. */
function addressOf(service: string, text: string, count: number): Address {
  const [, name, url = ""] = /^(?:([\w.-]+)=)?(.+)$/.exec(text) ?? [];
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol))
    throw new RuntimeError("SETTINGS_INVALID", `${text} of ${service} is neither URL nor NAME=URL`);
  return { name: name ?? (count === 1 ? service : parsed.host), url: url.endsWith("/") ? url.slice(0, -1) : url };
}

/** A page of a proxy may lead to the replica that the proxy is connected to. */
const maxRedirects = 1;

export function createServices({ addresses, timeoutMs }: ServicesOptions): Services {
  const replicas: Services["replicas"] = async (service) => {
    const known = service === "console" ? [] : addresses[service];
    return (await Promise.all(known.map(resolved))).flat();
  };
  const at = <T>(service: ServiceName, replica: Address, question: Question): Promise<Answer<T>> =>
    ask<T>(service, replica, question, timeoutMs);
  return {
    replicas,
    at,
    all: async <T>(service: ServiceName, question: Question) => {
      const all = await replicas(service);
      if (all.length === 0) return [unknownAddress(service)];
      return Promise.all(all.map((replica) => at<T>(service, replica, question)));
    },
    first: async <T>(service: ServiceName, question: Question) => {
      let last: Answer<T> = unknownAddress(service);
      for (const replica of await replicas(service)) {
        last = await at<T>(service, replica, question);
        if (last.isAnswered || (last.status !== undefined && last.status !== 404 && last.status < 500)) return last;
      }
      return last;
    },
  };
}

function unknownAddress(service: ServiceName): Extract<Answer<never>, { isAnswered: false }> {
  return {
    isAnswered: false,
    away: { service, reason: "unknown-address", message: `the settings of the console name no address of ${service}` },
  };
}

/** A name of several addresses, as a headless Service has it, is a replica each. */
async function resolved(address: Address): Promise<readonly Address[]> {
  const url = new URL(address.url);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) > 0 || host === "localhost") return [address];
  const found = await lookup(host, { all: true }).catch(() => []);
  if (found.length < 2) return [address];
  return found.map(({ address: ip, family }) => ({
    name: `${address.name} ${ip}`,
    url: `${url.protocol}//${family === 6 ? `[${ip}]` : ip}${url.port === "" ? "" : `:${url.port}`}`,
  }));
}

async function ask<T>(
  service: ServiceName,
  { name, url }: Address,
  question: Question,
  timeoutMs: number,
): Promise<Answer<T>> {
  const { path, token, query = {}, method = "GET", body, isText = false } = question;
  const known = query instanceof URLSearchParams ? [...query] : Object.entries(query).filter(isGiven);
  const suffix = known.length === 0 ? "" : `?${new URLSearchParams(known)}`;
  const init = {
    method,
    headers: {
      ...(!isText && { accept: "application/json" }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    // One that names another replica is followed here, with the token: fetch would leave it out.
    redirect: "manual",
    signal: AbortSignal.timeout(timeoutMs),
    ...(body !== undefined && { body: JSON.stringify(body) }),
  } as const;
  try {
    let response = await fetch(`${url}${path}${suffix}`, init);
    for (let i = 0; i < maxRedirects && response.status === 307; i++) {
      const location = otherReplica(response.headers.get("location"));
      if (location === undefined) break;
      await response.body?.cancel();
      response = await fetch(location, init);
    }
    if (response.ok)
      return { isAnswered: true, replica: name, value: (isText ? await response.text() : await response.json()) as T };
    return refusedBy(service, name, response.status, errorOf(await response.text()));
  } catch (error) {
    return { isAnswered: false, away: { service, replica: name, ...reasonOf(error, timeoutMs) } };
  }
}

function isGiven(entry: readonly [string, string | undefined]): entry is [string, string] {
  return entry[1] !== undefined;
}

/** Only pages of replicas are followed. */
function otherReplica(location: string | null): string | undefined {
  if (location === null || !URL.canParse(location)) return undefined;
  const { protocol, pathname } = new URL(location);
  return /^https?:$/.test(protocol) && pathname.startsWith("/debug/") ? location : undefined;
}

function refusedBy(service: ServiceName, replica: string, status: number, message: string): Answer<never> {
  const reason: AwayReason = status === 401 || status === 403 ? "forbidden" : "failed";
  return { isAnswered: false, status, away: { service, replica, reason, message } };
}

function reasonOf(error: unknown, timeoutMs: number): Pick<AwayService, "reason" | "message"> {
  if (error instanceof Error && error.name === "TimeoutError")
    return { reason: "timeout", message: `no answer within ${timeoutMs} ms` };
  if (error instanceof SyntaxError) return { reason: "failed", message: "the answer is no JSON" };
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return { reason: "unreachable", message: cause instanceof Error ? cause.message : String(cause) };
}

function errorOf(text: string): string {
  try {
    const { error } = JSON.parse(text) as { readonly error?: unknown };
    if (typeof error === "string") return error;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  return text.trim();
}

/** For endpoints that one service alone can answer. @throws RequestRefused */
export function expectAnswer<T>(answer: Answer<T>): T {
  if (answer.isAnswered) return answer.value;
  const { away, status } = answer;
  if (status === undefined) throw new RequestRefused("away", `${away.service} does not answer: ${away.message}`);
  throw new RequestRefused(codeOf(status), away.message);
}

/** The services among the answers that gave none. */
export function awayOf(answers: readonly Answer<unknown>[]): readonly AwayService[] {
  return answers.flatMap((answer) => (answer.isAnswered ? [] : [answer.away]));
}
