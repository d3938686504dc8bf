/** `/debug/made_from`: the resources of connected proxies that an object went into. */
import { shownType } from "@flotilla/proto";
import { type ListShape, listPage, TimeSlice } from "@flotilla/runtime";
import type { Core } from "../app/core.ts";
import type { StreamRecord } from "../serve/stream-record.ts";
import { type DebugPage, plain } from "./page.ts";
import { setOf } from "./resource-pages.ts";
import { maySee } from "./viewer.ts";

interface MadeResource {
  readonly proxy: string;
  readonly type: string;
  readonly name: string;
}

/** Pushes go on meanwhile. */
const sliceMs = 5;
/** Looking at every resource of every proxy of a large fleet would take minutes. */
const maxLookMs = 500;
const maxFound = 1_000;

const shape: ListShape<MadeResource> = {
  columns: {
    proxy: ({ proxy, type, name }) => `${proxy} ${type} ${name}`,
    type: ({ type }) => type,
    name: ({ name }) => name,
  },
  facets: {},
  text: ({ proxy, type, name }) => `${proxy} ${type} ${name}`,
  sort: "proxy",
  others: ["object"],
  // The console joins the lists of all replicas.
  maxLimit: maxFound,
};

export function madeFromPage(core: Core, streams: () => readonly StreamRecord[]): DebugPage {
  return {
    path: "made_from",
    help: "resources of proxies connected here that were made from ?object=Kind/namespace/name; search, sort, offset, limit",
    scope: "namespace",
    answer: async ({ query, viewer }) => {
      const object = query.get("object") ?? "";
      if (object.split("/").length !== 3) return plain(400, "made_from needs object=Kind/namespace/name");
      const seen = streams().filter((stream) => !stream.isIdle() && maySee(viewer, stream.proxy.namespace));
      const { found, isComplete } = await lookFor(core, seen, object);
      const page = listPage(found, shape, query);
      return "problem" in page ? { status: 400, json: { error: page.problem } } : { json: { ...page, isComplete } };
    },
  };
}

/** Of equal proxies each is listed; their resources are examined once. */
async function lookFor(
  core: Core,
  streams: readonly StreamRecord[],
  object: string,
): Promise<{ readonly found: readonly MadeResource[]; readonly isComplete: boolean }> {
  const isFrom = new Map<string, boolean>();
  const ofViews = new Map<readonly object[], readonly Omit<MadeResource, "proxy">[]>();
  const found: MadeResource[] = [];
  const timeSlice = new TimeSlice(sliceMs);
  const sinceMs = performance.now();
  for (const stream of streams) {
    if (found.length >= maxFound || performance.now() - sinceMs > maxLookMs) return { found, isComplete: false };
    const watched = stream.watched();
    const resources = ofViews.get(watched) ?? madeIn(core, stream, object, isFrom);
    ofViews.set(watched, resources);
    found.push(...resources.map((one) => ({ proxy: stream.proxy.id, ...one })));
    if (timeSlice.isDue) await timeSlice.yield();
  }
  return { found, isComplete: true };
}

function madeIn(
  core: Core,
  stream: StreamRecord,
  object: string,
  isFrom: Map<string, boolean>,
): readonly Omit<MadeResource, "proxy">[] {
  const subject = core.subjectOf(stream.proxy);
  const comesFrom = (input: string): boolean => {
    const known = isFrom.get(input) ?? core.objectsOf(input).some((one) => one.object === object);
    isFrom.set(input, known);
    return known;
  };
  return [...stream.types().keys()].flatMap((url) =>
    [...(setOf(core, stream, url)?.byName.keys() ?? [])]
      .filter((name) => core.explain(subject, url, name).some(comesFrom))
      .map((name) => ({ type: shownType(url), name })),
  );
}
