/** Rejections by proxies, by the object that is blamed and the type: a thousand proxies mostly reject one thing. */
import type { ProxyRefusal } from "@flotilla/model";
import { shownType } from "@flotilla/proto";
import { type HttpHandler, type ListShape, listPage } from "@flotilla/runtime";
import type { Distributions } from "./distributions.ts";

export interface RejectionGroup {
  /** `Kind/namespace/name`; absent where no object is blamed. */
  readonly object?: string;
  /** `rds`, `lds`, … */
  readonly type: string;
  readonly resources: readonly string[];
  /** Envoy's words, of the last rejection. */
  readonly message: string;
  /** Field of the resource that Envoy names, such as `RouteConfiguration.VirtualHosts[0]`. */
  readonly field?: string;
  readonly firstAt: string;
  readonly lastAt: string;
  /** The first of them; `proxyCount` counts all. */
  readonly proxies: readonly string[];
  readonly proxyCount: number;
  /** The generation that they reject. */
  readonly generation: number;
}

const maxResources = 20;
const maxProxies = 100;

/** One that blames several objects is in the group of each. The latest first. */
export function groupRejections(refusals: readonly ProxyRefusal[]): readonly RejectionGroup[] {
  const groups = new Map<string, { readonly object: string | undefined; readonly all: ProxyRefusal[] }>();
  for (const refusal of refusals) {
    const { objects, typeUrl, message } = refusal;
    for (const object of objects.length > 0 ? objects : [undefined]) {
      const key = `${typeUrl}\n${object ?? `\n${message}`}`;
      const group = groups.get(key) ?? { object, all: [] };
      group.all.push(refusal);
      groups.set(key, group);
    }
  }
  return [...groups.values()]
    .map(({ object, all }) => groupOf(object, all))
    .sort((a, b) => (a.lastAt > b.lastAt ? -1 : a.lastAt < b.lastAt ? 1 : 0));
}

function groupOf(object: string | undefined, all: readonly ProxyRefusal[]): RejectionGroup {
  const last = all.reduce((a, b) => (b.atMs > a.atMs ? b : a));
  const field = fieldIn(last.message);
  const proxies = [...new Set(all.map(({ proxy }) => proxy))].sort();
  return {
    ...(object !== undefined && { object }),
    type: shownType(last.typeUrl),
    resources: [...new Set(all.flatMap(({ resources }) => resources))].sort().slice(0, maxResources),
    message: last.message,
    ...(field !== undefined && { field }),
    firstAt: new Date(Math.min(...all.map(({ sinceMs, atMs }) => sinceMs ?? atMs))).toISOString(),
    lastAt: new Date(last.atMs).toISOString(),
    proxies: proxies.slice(0, maxProxies),
    proxyCount: proxies.length,
    generation: last.position,
  };
}

/** Envoy's validation names the field of each level, the innermost last. */
function fieldIn(message: string): string | undefined {
  const last = [
    ...message.matchAll(/\b([A-Z][a-z]{1,20}(?:[A-Z][a-z]{1,20}){0,4})ValidationError\.([\w.[\]"-]{1,100})/g),
  ].at(-1);
  return last && `${last[1]}.${last[2]}`;
}

const shape: ListShape<RejectionGroup, "type" | "namespace"> = {
  columns: {
    object: ({ object = "" }) => object,
    proxies: ({ proxyCount }) => proxyCount,
    firstAt: ({ firstAt }) => firstAt,
    lastAt: ({ lastAt }) => lastAt,
  },
  facets: { type: ({ type }) => type, namespace: ({ object = "" }) => object.split("/")[1] ?? "" },
  text: ({ object = "", type, message, resources, proxies }) =>
    [object, type, message, ...resources, ...proxies].join(" "),
  sort: "-lastAt",
};

/** `?search=&type=&namespace=&sort=&offset=&limit=` */
export function rejectionsPage(distributions: Pick<Distributions, "refusals">): HttpHandler {
  return ({ query }) => {
    const page = listPage(groupRejections(distributions.refusals()), shape, query);
    return "problem" in page ? { status: 400, json: { error: page.problem } } : { json: page };
  };
}
