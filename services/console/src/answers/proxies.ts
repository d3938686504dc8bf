/** Proxies: the fleet, one of them, its resources and why they are what they are. */
import type {
  Explanation,
  ProxyDetail,
  ProxyDiff,
  ProxyPage,
  ProxyRow,
  ProxyStats,
  RejectionPage,
  ResourceDetail,
  ResourceDifference,
  ResourcePage,
  StatRow,
} from "@flotilla/console/contract";
import type { ListShape } from "@flotilla/http";
import { type Json, jsonDifferences } from "@flotilla/model";
import { RequestRefused } from "../errors.ts";
import { type ApiRequest, type FileAnswer, type Handlers, param, required } from "../serve/endpoint.ts";
import type { AdminAddresses } from "../stats/admin-address.ts";
import type { StatsReader } from "../stats/proxy-stats.ts";
import { expectAnswer, type Services } from "../upstream/services.ts";
import { dumpedResources, dumpedTypes } from "./config-dump.ts";
import { cut, listOf } from "./lists.ts";

type ProxyHandlers = Pick<
  Handlers,
  | "GET /api/v1/proxies"
  | "GET /api/v1/proxies/{proxy}"
  | "GET /api/v1/proxies/{proxy}/resources"
  | "GET /api/v1/proxies/{proxy}/resource"
  | "GET /api/v1/proxies/{proxy}/diff"
  | "GET /api/v1/proxies/{proxy}/config-dump"
  | "GET /api/v1/proxies/{proxy}/stats"
  | "GET /api/v1/rejections"
>;

export interface ProxySources {
  readonly services: Services;
  readonly admin: AdminAddresses;
  readonly stats: StatsReader;
}

export function proxyHandlers(sources: ProxySources): ProxyHandlers {
  const { services } = sources;
  const xds = "xds-server";
  return {
    "GET /api/v1/proxies": (request) => listOf<ProxyPage>(services, { service: xds, path: "/debug/fleet" }, request),
    "GET /api/v1/proxies/{proxy}": (request) => oneProxy(sources, request),
    "GET /api/v1/proxies/{proxy}/resources": (request) => {
      required(request.query, "type");
      const given = { proxyID: param(request, "proxy") };
      return listOf<ResourcePage>(services, { service: xds, path: "/debug/resources", given }, request);
    },
    "GET /api/v1/proxies/{proxy}/resource": (request) => oneResource(services, request),
    "GET /api/v1/proxies/{proxy}/diff": (request) => diff(services, request),
    "GET /api/v1/proxies/{proxy}/config-dump": (request) => configDump(services, request),
    "GET /api/v1/proxies/{proxy}/stats": (request) => proxyStats(sources, request),
    "GET /api/v1/rejections": (request) =>
      listOf<RejectionPage>(services, { service: "config-controller", path: "/debug/rejections" }, request),
  };
}

type Described = Pick<ProxyDetail, "labels" | "metadata" | "locality" | "resources">;

async function oneProxy({ services, admin }: ProxySources, request: ApiRequest): Promise<ProxyDetail> {
  const proxy = param(request, "proxy");
  const { token } = request.session;
  const [described, fleet, rejections] = await Promise.all([
    services.first<Described>("xds-server", { path: "/debug/proxy", query: { proxyID: proxy }, token }),
    services.first<ProxyPage>("xds-server", { path: "/debug/fleet", query: { search: proxy, limit: "200" }, token }),
    services.first<RejectionPage>("config-controller", {
      path: "/debug/rejections",
      query: { search: proxy, limit: "200" },
      token,
    }),
  ]);
  const { labels, metadata, locality, resources } = expectAnswer(described);
  const row = expectAnswer(fleet).rows.find((one: ProxyRow) => one.proxy === proxy);
  if (row === undefined) throw new RequestRefused("not-found", `no proxy ${proxy} is connected`);
  const own = rejections.isAnswered ? rejections.value.rows.filter(({ proxies }) => proxies.includes(proxy)) : [];
  const hasStats = (await admin.of({ proxy, peer: row.peer, metadata })) !== undefined;
  return { ...row, labels, metadata, locality, resources, rejections: own, hasStats };
}

const statShape: ListShape<StatRow> = {
  columns: { name: ({ name }) => name, value: ({ value }) => value },
  facets: {},
  text: ({ name }) => name,
  sort: "name",
};

/** xds-server decides whether the caller may see the proxy. @throws RequestRefused not-found, forbidden, away, upstream */
async function proxyStats({ services, admin, stats }: ProxySources, request: ApiRequest): Promise<ProxyStats> {
  const proxy = param(request, "proxy");
  const { token } = request.session;
  const query = { proxyID: proxy };
  const { peer, metadata } = expectAnswer(
    await services.first<Described & Pick<ProxyRow, "peer">>("xds-server", { path: "/debug/proxy", query, token }),
  );
  const address = await admin.of({ proxy, peer, metadata });
  if (address === undefined)
    throw new RequestRefused("not-found", `no address of an admin interface of ${proxy} is known`);
  return cut(await stats.read(address), statShape, request.query);
}

/** As `/debug/explain` of xds-server answers it. */
interface Explained {
  readonly position: number;
  readonly since: { readonly position: number; readonly at: string } | string;
  readonly change?: {
    readonly causedBy: readonly string[];
    readonly differences: Explanation["madeFrom"] | readonly never[];
  };
  readonly madeFrom: readonly {
    readonly object: string;
    readonly position?: number;
    readonly at?: string;
    readonly by?: string;
    readonly source?: string;
  }[];
  readonly delivery: {
    readonly acknowledged?: { readonly position: number; readonly at: string };
    readonly refused?: string;
  };
}

async function oneResource(services: Services, request: ApiRequest): Promise<ResourceDetail> {
  const { token } = request.session;
  const query = {
    proxyID: param(request, "proxy"),
    type: required(request.query, "type"),
    name: required(request.query, "name"),
  };
  const [resource, explained] = await Promise.all([
    services.first<Omit<ResourceDetail, "explanation">>("xds-server", { path: "/debug/resource", query, token }),
    services.first<Explained>("xds-server", { path: "/debug/explain", query, token }),
  ]);
  return { ...expectAnswer(resource), explanation: explanationOf(expectAnswer(explained)) };
}

function explanationOf({ position, since, change, madeFrom, delivery }: Explained): Explanation {
  const { acknowledged, refused } = delivery;
  return {
    generation: position,
    ...(typeof since !== "string" && { since: { generation: since.position, at: since.at } }),
    ...(change !== undefined && { change: change as unknown as NonNullable<Explanation["change"]> }),
    madeFrom: madeFrom.map(({ position: generation, ...origin }) => ({
      ...origin,
      ...(generation !== undefined && { generation }),
    })),
    ...(acknowledged !== undefined && { acknowledged: { generation: acknowledged.position, at: acknowledged.at } }),
    ...(refused !== undefined && { rejected: refused }),
  };
}

const differenceShape: ListShape<ResourceDifference> = {
  columns: { name: ({ type, name }) => `${type} ${name}` },
  facets: {},
  text: ({ type, name, op }) => `${type} ${name} ${op}`,
  sort: "name",
  others: ["with", "type"],
};
const maxDifferences = 200;

async function diff(services: Services, request: ApiRequest): Promise<ProxyDiff> {
  const { query } = request;
  const [other, type] = [query.get("with"), query.get("type")];
  const found = other === null ? await lastChanged(services, request) : await against(services, request, other);
  const wanted = type === null ? found : found.filter((one) => one.type === type);
  return cut(wanted, differenceShape, query);
}

async function lastChanged(services: Services, request: ApiRequest): Promise<readonly ResourceDifference[]> {
  const query = { proxyID: param(request, "proxy") };
  const { token } = request.session;
  const answer = await services.first<{ readonly resources: readonly ResourceDifference[] }>("xds-server", {
    ...{ path: "/debug/changed_resources", query, token },
  });
  return expectAnswer(answer).resources.map(({ type, name, op, differences }) => ({ type, name, op, differences }));
}

const none: ReturnType<typeof dumpedResources> = new Map();

async function against(services: Services, request: ApiRequest, other: string): Promise<readonly ResourceDifference[]> {
  const { token } = request.session;
  const dumps = await Promise.all(
    [param(request, "proxy"), other].map((proxyID) =>
      services.first<unknown>("xds-server", {
        path: "/debug/config_dump",
        query: { proxyID, types: dumpedTypes },
        token,
      }),
    ),
  );
  const [own = none, theirs = none] = dumps.map((dump) => dumpedResources(expectAnswer(dump)));
  return [...new Map([...theirs, ...own])].flatMap(([key, { type, name }]): readonly ResourceDifference[] => {
    const [a, b] = [own.get(key), theirs.get(key)];
    if (a === undefined) return [{ type, name, op: "removed", differences: [] }];
    if (b === undefined) return [{ type, name, op: "added", differences: [] }];
    const differences = jsonDifferences(b.content as Json, a.content as Json).slice(0, maxDifferences);
    return differences.length === 0 ? [] : [{ type, name, op: "changed", differences }];
  });
}

async function configDump(services: Services, request: ApiRequest): Promise<FileAnswer> {
  const proxyID = param(request, "proxy");
  const { token } = request.session;
  const dump = await services.first<string>("xds-server", {
    ...{ path: "/debug/config_dump", query: { proxyID }, token, isText: true },
  });
  return { fileName: `${proxyID}-config-dump.json`, contentType: "application/json", text: expectAnswer(dump) };
}
