/** The history of the configuration over HTTP: its generations, one of them read back, and what differs between two. */
import {
  type Cause,
  type ConfigKeyText,
  causeText,
  configKeyText,
  type Difference,
  type Json,
  jsonDifferences,
  type KubeObject,
  writerOf,
} from "@flotilla/model";
import { type HttpHandler, type HttpReply, type HttpRequest, type ListShape, listPage } from "@flotilla/runtime";
import { ConfigError } from "../errors.ts";
import { parseObjectName } from "../status/status-pages.ts";
import { contentOf, manifestOf } from "../store/manifest-of.ts";
import type { Ledger } from "./ledger.ts";
import { isWithheld, type LedgerContent } from "./ledger-record.ts";
import type { RecordSummary } from "./ledger-ring.ts";

/** A generation with the first of its objects. */
export interface GenerationSummary {
  readonly generation: number;
  readonly at: string;
  /** Account that wrote it over the API; else the source, such as a directory; else the service itself. */
  readonly by: string;
  readonly changes: number;
  readonly objects: RecordSummary["objects"];
}

interface ListedGeneration {
  readonly generation: number;
  readonly at: string;
  readonly by: string;
  readonly cause: Cause;
  readonly changes: number;
  readonly objects: RecordSummary["objects"];
}

/** Of a generation; more are counted only. */
const maxObjects = 20;

export function historyPage(ledger: Ledger): HttpHandler {
  return ({ query }) =>
    answer(async () => {
      const limit = Number(query.get("limit") ?? 50);
      const object = objectOf(query);
      const isMeant = ({ objects }: ListedGeneration) =>
        object === null || objects.some((one) => one.object === object);
      const all = joinParts(ledger.history()).filter(isMeant);
      const generations = all
        .slice(-limit)
        .reverse()
        .map((one) => ({ ...one, objects: shownObjects(one, object) }));
      return { json: { generations } };
    });
}

/** The first of them; of one object that is asked for, that one alone. */
function shownObjects({ objects }: ListedGeneration, asked: ConfigKeyText | null): ListedGeneration["objects"] {
  return asked === null ? objects.slice(0, maxObjects) : objects.filter(({ object }) => object === asked);
}

/** Oldest first. */
export function listGenerations(ledger: Pick<Ledger, "history">): readonly GenerationSummary[] {
  return joinParts(ledger.history()).map(({ objects, cause, ...one }) => ({
    ...{ generation: one.generation, at: one.at, changes: one.changes, objects: objects.slice(0, maxObjects) },
    by: writerOf(cause),
  }));
}

const generationShape: ListShape<ListedGeneration> = {
  columns: { generation: ({ generation }) => generation },
  facets: {},
  text: ({ generation, objects, by }) => [generation, by, ...objects.map(({ object }) => object)].join(" "),
  sort: "-generation",
  others: ["object"],
};

/** `?search=&object=&offset=&limit=`: the latest first. */
export function generationsPage(ledger: Ledger): HttpHandler {
  return ({ query }) =>
    answer(async () => {
      const wanted = objectOf(query);
      const all = joinParts(ledger.history()).filter(
        ({ objects }) => wanted === null || objects.some(({ object }) => object === wanted),
      );
      const page = listPage(all, generationShape, query);
      if ("problem" in page) return { status: 400, json: { error: page.problem } };
      const rows = page.rows.map(({ generation, at, cause, changes, objects }) => {
        return { generation, at, by: writerOf(cause), changes, objects: objects.slice(0, maxObjects) };
      });
      return { json: { ...page, rows } };
    });
}

export function generationPage(ledger: Ledger): HttpHandler {
  return (request) =>
    answer(async () => {
      const at = generationOf(request, "at");
      const object = objectOf(request.query);
      const state = [...(await ledger.at(at))].filter(([text]) => object === null || text === object);
      return { json: { generation: at, objects: Object.fromEntries(state) } };
    });
}

/** `?contents=true`: each object as it was and as it is, as manifests, beside the differences. */
export function diffPage(ledger: Ledger): HttpHandler {
  return (request) =>
    answer(async () => {
      const [from, to] = [generationOf(request, "from"), generationOf(request, "to")];
      const withContents = request.query.get("contents") === "true";
      const changed = [...(await ledger.between(from, to))].flatMap(([object, { before, after }]) =>
        describe(object, before, after).map((one) => (withContents ? { ...one, ...contentsOf(before, after) } : one)),
      );
      return { json: { from, to, objects: changed.sort((a, b) => (a.object < b.object ? -1 : 1)) } };
    });
}

async function answer(work: () => Promise<HttpReply>): Promise<HttpReply> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ConfigError) return { status: 400, json: { error: error.reason } };
    throw error;
  }
}

/** Null when none is asked for. @throws ConfigError CONFIG_BAD_NAME */
function objectOf(query: URLSearchParams): ConfigKeyText | null {
  const text = query.get("object");
  return text === null ? null : configKeyText(parseObjectName(text));
}

/** @throws ConfigError CONFIG_BAD_GENERATION */
function generationOf({ query }: HttpRequest, name: string): number {
  const text = query.get(name) ?? "";
  if (!/^\d+$/.test(text))
    throw new ConfigError("CONFIG_BAD_GENERATION", `${name} must be the number of a generation, not "${text}"`);
  return Number(text);
}

/** A large generation is kept in several records. */
function joinParts(records: readonly RecordSummary[]): readonly ListedGeneration[] {
  const listed: ListedGeneration[] = [];
  for (const { position, cause, objects } of records) {
    const before = listed.at(-1)?.generation === position ? listed.pop() : undefined;
    const all = [...(before?.objects ?? []), ...objects];
    const at = cause.eventTimeMs > 0 ? new Date(cause.eventTimeMs).toISOString() : "";
    listed.push({ generation: position, at, by: causeText(cause), cause, changes: all.length, objects: all });
  }
  return listed;
}

interface ChangedObject {
  readonly object: ConfigKeyText;
  readonly op: "created" | "changed" | "deleted";
  /** Why its content is not shown. */
  readonly withheld?: string;
  readonly differences?: readonly Difference[];
  /** Without fields that a store counts by itself; absent where there was no object. */
  readonly before?: KubeObject;
  readonly after?: KubeObject;
}

function describe(object: ConfigKeyText, before: LedgerContent, after: LedgerContent): readonly ChangedObject[] {
  const withheld = [before, after].find((content) => content !== null && isWithheld(content));
  const op = before === null ? "created" : after === null ? "deleted" : "changed";
  if (before === null && after === null) return [];
  if (withheld !== undefined) return [{ object, op, ...withheld }];
  const differences = jsonDifferences(plain(before), plain(after));
  return differences.length === 0 ? [] : [{ object, op, differences }];
}

function contentsOf(before: LedgerContent, after: LedgerContent): Pick<ChangedObject, "before" | "after"> {
  const [old, fresh] = [shownManifest(before), shownManifest(after)];
  return { ...(old !== undefined && { before: old }), ...(fresh !== undefined && { after: fresh }) };
}

/** Undefined where there was no object, or none that is kept. */
export function shownManifest(content: LedgerContent): KubeObject | undefined {
  if (content === null || isWithheld(content)) return undefined;
  const { apiVersion, kind, metadata } = manifestOf(content);
  const { name, namespace, labels, annotations } = metadata;
  const own = { name, ...(namespace && { namespace }), ...(labels && { labels }), ...(annotations && { annotations }) };
  return { apiVersion, kind, metadata: own, ...contentOf(content) };
}

/** The content that people write of an object: its source location and the version that its source gave it are no difference. */
function plain(content: LedgerContent): Json {
  if (content === null || isWithheld(content)) return {};
  const { labels, annotations, spec } = content;
  return JSON.parse(JSON.stringify({ labels, annotations, spec })) as Json;
}
