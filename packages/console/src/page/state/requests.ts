/** Calls of the contract's endpoints, with the types of their queries and answers. */
import type { Endpoints } from "../../contract/index.ts";
import type { Answer, CallOptions, FetchJson } from "./fetch-json.ts";

export type EndpointName = keyof Endpoints;

/** Endpoints that are read. */
export type ReadEndpoint = Extract<EndpointName, `GET ${string}`>;

/** Values for the names in braces of an endpoint's path. */
export type PathNames = Readonly<Record<string, string>>;

/** The path and query of an endpoint; undefined and empty values are left out. */
export function requestPath<E extends EndpointName>(
  endpoint: E,
  names: PathNames = {},
  query: Partial<Endpoints[E]["query"]> = {},
): string {
  const [, pattern = ""] = endpoint.split(" ");
  const path = pattern.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = Object.hasOwn(names, name) ? names[name] : undefined;
    if (value === undefined) throw new RangeError(`${endpoint} needs a value for ${name}`);
    return encodeURIComponent(value);
  });
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== "") search.append(name, String(value));
  search.sort();
  return search.size === 0 ? path : `${path}?${search}`;
}

/** Calls an endpoint that changes something. */
export function callEndpoint<E extends EndpointName>(
  fetchJson: FetchJson,
  endpoint: E,
  { names = {}, body }: { readonly names?: PathNames; readonly body?: Endpoints[E]["body"] },
): Promise<Answer<Endpoints[E]["answer"]>> {
  const [method] = endpoint.split(" ") as [NonNullable<CallOptions["method"]>];
  return fetchJson(requestPath(endpoint, names), body === undefined ? { method } : { method, body });
}
