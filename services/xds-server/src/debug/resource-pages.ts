/** Pages about the resources of one proxy: how many of each type, their list, one of them, and those that changed last. */
import { type Difference, jsonDifferences, metadataText, ownValue } from "@flotilla/model";
import { bytesToJson, shownType } from "@flotilla/proto";
import { type HttpReply, type ListShape, listPage } from "@flotilla/runtime";
import type { Resource, ResourceSet } from "@flotilla/xds";
import type { Core } from "../app/core.ts";
import type { StreamRecord } from "../serve/stream-record.ts";
import { shortTypes } from "./explain.ts";
import { type DebugPage, plain } from "./page.ts";
import { aboutProxy, type ProxyPageSources } from "./proxy-pages.ts";
import type { ResourceHistory } from "./resource-history.ts";
import { withoutSecrets } from "./without-secrets.ts";

export interface ResourcePageSources extends Pick<ProxyPageSources, "core" | "streams" | "fleet"> {
  readonly history: Pick<ResourceHistory, "changeTo">;
}

interface ResourceRow {
  readonly type: string;
  readonly name: string;
  readonly version: string;
  readonly bytes: number;
}

const shape: ListShape<ResourceRow> = {
  columns: { name: ({ name }) => name, bytes: ({ bytes }) => bytes },
  facets: {},
  text: ({ name }) => name,
  sort: "name",
  others: ["proxyID", "type", "redirected"],
};
const maxOrigins = 10;
/** More are seldom read; a resource that is new differs in everything. */
const maxDifferences = 200;

export function resourcePages(sources: ResourcePageSources): readonly DebugPage[] {
  const page = (
    path: string,
    help: string,
    answer: (stream: StreamRecord, query: URLSearchParams) => HttpReply,
  ): DebugPage => ({
    ...{ path, help, scope: "namespace" },
    answer: (question) => aboutProxy(sources, question, (stream) => answer(stream, question.query)),
  });
  const { core, history } = sources;
  return [
    page("proxy", "one proxy (?proxyID=): its node, and its number of resources of each type", (stream) => ({
      json: { ...describe(stream), resources: summaries(core, stream) },
    })),
    page(
      "resources",
      "the resources of a proxy: ?proxyID=&type=cds|lds|…&search=&sort=&offset=&limit=",
      (stream, query) => listResources(core, stream, query),
    ),
    page("resource", "one resource: ?proxyID=&type=&name=", (stream, query) => oneResource(core, stream, query)),
    page("changed_resources", "the resources of a proxy that its last change made different: ?proxyID=", (stream) => ({
      json: { resources: lastChanged(core, history, stream) },
    })),
  ];
}

function describe({ proxy, peer, connectedAtMs, id }: StreamRecord) {
  const { metadata, labels, locality } = proxy;
  const texts = Object.keys(metadata).flatMap((name) => {
    const text = metadataText(metadata, name);
    return text === "" ? [] : [[name, text] as const];
  });
  return {
    ...{ proxy: proxy.id, namespace: proxy.namespace, type: proxy.type, peer, connectionId: id },
    connectedAt: new Date(connectedAtMs).toISOString(),
    labels,
    metadata: Object.fromEntries(texts),
    locality: [locality.region, locality.zone, locality.subzone].filter((part) => part !== "").join("/"),
  };
}

function summaries(core: Core, stream: StreamRecord) {
  return [...stream.types().keys()].flatMap((url) => {
    const set = setOf(core, stream, url);
    if (set === undefined) return [];
    const resources = [...set.byName.values()];
    const bytes = resources.reduce((sum, one) => sum + one.bytes.byteLength, 0);
    return [{ type: shownType(url), count: resources.length, bytes }];
  });
}

/** Of types that are asked for by name, those the proxy asks for. */
export function setOf(core: Core, stream: StreamRecord, url: string): ResourceSet | undefined {
  const subject = core.subjectOf(stream.proxy);
  if (core.serves(subject, url) !== "named") return core.resources(subject, url);
  const names = stream.types().get(url)?.names();
  return names === undefined ? undefined : core.resources(subject, url, names);
}

function listResources(core: Core, stream: StreamRecord, query: URLSearchParams): HttpReply {
  const type = query.get("type") ?? "";
  const url = ownValue(shortTypes, type) ?? type;
  const all = [...(setOf(core, stream, url)?.byName.values() ?? [])].map(({ name, version, bytes }) => {
    return { type: shownType(url), name, version, bytes: bytes.byteLength };
  });
  const page = listPage(all, shape, query);
  if ("problem" in page) return { status: 400, json: { error: page.problem } };
  const subject = core.subjectOf(stream.proxy);
  const rows = page.rows.map((row) => {
    const objects = core.explain(subject, url, row.name).flatMap((input) => core.objectsOf(input));
    const madeFrom = [...new Set(objects.map(({ object }) => object))].sort();
    return { ...row, madeFrom: madeFrom.slice(0, maxOrigins), madeFromCount: madeFrom.length };
  });
  return { json: { ...page, rows } };
}

function oneResource(core: Core, stream: StreamRecord, query: URLSearchParams): HttpReply {
  const [type, name] = [query.get("type"), query.get("name")];
  if (type === null || name === null) return plain(400, "resource needs proxyID, type and name");
  const url = ownValue(shortTypes, type) ?? type;
  const found = core.resource(core.subjectOf(stream.proxy), url, name);
  if (found === undefined) return plain(404, `${stream.proxy.id} gets no ${type} named ${JSON.stringify(name)}`);
  return { json: { type: shownType(url), name, version: found.version, content: jsonOf(found) } };
}

interface ChangedResource {
  readonly type: string;
  readonly name: string;
  readonly op: "added" | "changed";
  readonly position: number;
  readonly at: string;
  readonly differences: readonly Difference[];
}

/** Of the latest generation that changed any of its resources, as far as it is remembered. */
function lastChanged(
  core: Core,
  history: ResourcePageSources["history"],
  stream: StreamRecord,
): readonly ChangedResource[] {
  const changed = [...stream.types().keys()].flatMap((url) =>
    [...(setOf(core, stream, url)?.byName.values() ?? [])].flatMap((resource) => {
      const change = history.changeTo(url, resource);
      return change === undefined ? [] : [{ resource, change }];
    }),
  );
  const latest = Math.max(...changed.map(({ change }) => change.position));
  return changed
    .filter(({ change }) => change.position === latest)
    .map(({ resource, change: { before, position, atMs } }) => ({
      ...{ type: shownType(resource.typeUrl), name: resource.name, op: before === undefined ? "added" : "changed" },
      ...{ position, at: new Date(atMs).toISOString() },
      differences:
        before === undefined ? [] : jsonDifferences(jsonOf(before), jsonOf(resource)).slice(0, maxDifferences),
    }));
}

function jsonOf({ typeUrl, bytes }: Pick<Resource, "typeUrl" | "bytes">) {
  return withoutSecrets(bytesToJson(typeUrl, bytes));
}
