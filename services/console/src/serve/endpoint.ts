/** The table of endpoints: methods and paths of the contract, and their handlers. */
import type { Endpoints } from "@flotilla/console/contract";
import { ownValue } from "@flotilla/model";
import { RequestRefused } from "../errors.ts";
import type { Session } from "../session/sessions.ts";

/** The inputs of an endpoint. */
export interface ApiRequest {
  /** Of the caller; its token goes to services only. */
  readonly session: Session;
  readonly query: URLSearchParams;
  /** Names in `{}` of the path, decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** @throws RequestRefused bad-request, too-large */
  readonly body: () => Promise<unknown>;
}

/** An answer that is a file to be saved. */
export interface FileAnswer {
  readonly fileName: string;
  readonly contentType: string;
  readonly text: string;
}

export const isFile = (answer: unknown): answer is FileAnswer =>
  typeof answer === "object" && answer !== null && "fileName" in answer;

export type Handler<Name extends keyof Endpoints> = (
  request: ApiRequest,
) => Promise<Endpoints[Name]["answer"]> | Endpoints[Name]["answer"];

/** Endpoints that need a session, by method and path; those of sessions and events are the server's own. */
export type Handlers = {
  readonly [Name in Exclude<keyof Endpoints, `${string} /api/v1/session`>]: Handler<Name>;
};

export interface Found {
  readonly name: string;
  readonly handler: (request: ApiRequest) => unknown;
  readonly params: Readonly<Record<string, string>>;
}

interface Route {
  readonly name: string;
  readonly method: string;
  readonly parts: readonly string[];
  readonly handler: (request: ApiRequest) => unknown;
}

export class EndpointTable {
  readonly #routes: readonly Route[];

  constructor(handlers: Handlers) {
    this.#routes = Object.entries(handlers).map(([name, handler]) => {
      const [method = "", path = ""] = name.split(" ");
      return { name, method, parts: path.split("/"), handler: handler as Route["handler"] };
    });
  }

  /** A part that is written out goes before one in `{}`. @throws RequestRefused not-found, bad-request */
  find(method: string, path: string): Found {
    const parts = path.split("/");
    const fitting = this.#routes.filter((route) => fits(route.parts, parts));
    const [route] = fitting.filter((one) => one.method === method).sort((a, b) => named(a) - named(b));
    if (route !== undefined) return { ...route, params: paramsOf(route.parts, parts) };
    const known = fitting.map((one) => one.method).join(", ");
    throw new RequestRefused("not-found", fitting.length === 0 ? `there is no ${path}` : `${path} takes ${known} only`);
  }
}

function fits(pattern: readonly string[], parts: readonly string[]): boolean {
  return pattern.length === parts.length && pattern.every((part, i) => part.startsWith("{") || part === parts[i]);
}

function named({ parts }: Route): number {
  return parts.filter((part) => part.startsWith("{")).length;
}

function paramsOf(pattern: readonly string[], parts: readonly string[]): Readonly<Record<string, string>> {
  const found = pattern.flatMap((part, i) =>
    part.startsWith("{") ? [[part.slice(1, -1), decoded(parts[i] ?? "")] as const] : [],
  );
  return Object.fromEntries(found);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new RequestRefused("bad-request", `${text} is not encoded as an address is`);
  }
}

/** Names in `params` are there by the pattern. */
export function param({ params }: ApiRequest, name: string): string {
  const value = ownValue(params, name);
  if (value === undefined) throw new RangeError(`the path has no {${name}}`);
  return value;
}

/** @throws RequestRefused bad-request */
export function required(query: URLSearchParams, name: string): string {
  const value = query.get(name);
  if (value === null || value === "") throw new RequestRefused("bad-request", `${name} is missing`);
  return value;
}
