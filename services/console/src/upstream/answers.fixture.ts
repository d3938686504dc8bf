/** For tests: services whose pages have given answers, and a request of a signed-in caller. */
import type { AwayReason, ServiceName } from "@flotilla/console/contract";
import type { ApiRequest } from "../serve/endpoint.ts";
import type { Answer, Question, Services } from "./services.ts";

/** An answer that is none; without a status there was no answer. */
export class NoAnswer {
  readonly status: number | undefined;
  readonly message: string;
  readonly reason: AwayReason;

  constructor(message: string, status?: number) {
    this.message = message;
    this.status = status;
    this.reason = status === undefined ? "unreachable" : status === 403 || status === 401 ? "forbidden" : "failed";
  }
}

/** Answers of replicas by their names, for pages that every replica is asked for. */
export class ByReplica {
  readonly values: Readonly<Record<string, unknown>>;

  constructor(values: Readonly<Record<string, unknown>>) {
    this.values = values;
  }
}

/** Answers of a page that depend on its query. */
export class ByQuery {
  readonly answer: (query: URLSearchParams) => unknown;

  constructor(answer: (query: URLSearchParams) => unknown) {
    this.answer = answer;
  }
}

/** Answers by `SERVICE PATH`; other pages are not there. */
export function servicesWith(pages: Readonly<Record<string, unknown>>): {
  readonly services: Services;
  /** Questions in short: `xds-server /debug/fleet?limit=1 by TOKEN`. */
  readonly asked: string[];
} {
  const asked: string[] = [];
  const note = (service: ServiceName, { path, query = {}, token, method, body }: Question): void => {
    const known = query instanceof URLSearchParams ? [...query] : Object.entries(query);
    const given = known.filter((entry): entry is [string, string] => entry[1] !== undefined);
    const suffix = given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
    const what = [method, `${service} ${path}${suffix}`, token && `by ${token}`, body && JSON.stringify(body)];
    asked.push(what.filter(Boolean).join(" "));
  };
  const answerOf = <T>(
    service: ServiceName,
    { path, query = {} }: Question,
    replica: string | undefined,
  ): Answer<T> => {
    const found = pages[`${service} ${path}`];
    const given = new URLSearchParams(query as Readonly<Record<string, string>>);
    const known = found instanceof ByQuery ? found.answer(given) : found;
    const value = known instanceof ByReplica ? known.values[replica ?? ""] : known;
    const none = value === undefined ? new NoAnswer(`no ${path}`, 404) : value instanceof NoAnswer ? value : undefined;
    if (none === undefined) return { isAnswered: true, value: value as T, replica: replica ?? "a" };
    const { reason, message, status } = none;
    const away = { service, reason, message, ...(replica !== undefined && { replica }) };
    return { isAnswered: false, away, ...(status !== undefined && { status }) };
  };
  const namesOf = (service: ServiceName): readonly string[] => (pages[service] as readonly string[] | undefined) ?? [];
  const services: Services = {
    replicas: async (service) => namesOf(service).map((name) => ({ name, url: `http://${name}` })),
    first: async <T>(service: ServiceName, question: Question) => {
      note(service, question);
      return answerOf<T>(service, question, undefined);
    },
    all: async <T>(service: ServiceName, question: Question) => {
      note(service, question);
      return namesOf(service).map((name) => answerOf<T>(service, question, name));
    },
    at: async <T>(service: ServiceName, { name }: { readonly name: string }, question: Question) => {
      note(service, question);
      return answerOf<T>(service, question, name);
    },
  };
  return { services, asked };
}

/** Of the caller `ann`, whose token is `T`. */
export function requestOf(
  query: string | URLSearchParams = "",
  { params = {}, body }: { readonly params?: Readonly<Record<string, string>>; readonly body?: unknown } = {},
): ApiRequest {
  const session = { caller: { account: "ann", mayWrite: true }, token: "T", ended: new AbortController().signal };
  return { session, query: new URLSearchParams(query), params, body: async () => body };
}
