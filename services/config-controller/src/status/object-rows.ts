/** The objects of the configuration as rows of a table that is searched, filtered, sorted and cut here, and one of them with its manifest. */
import { configKeyText } from "@flotilla/model";
import { type HttpHandler, type ListShape, listPage } from "@flotilla/runtime";
import { ConfigError } from "../errors.ts";
import type { PublishedConfig } from "../follow/published-config.ts";
import { shownManifest } from "../ledger/ledger-pages.ts";
import { isWithheld, type LedgerContent } from "../ledger/ledger-record.ts";
import type { ObjectStatus, ObjectStatuses } from "./object-status.ts";
import { gather, parseObjectName } from "./status-pages.ts";

export interface ObjectRow {
  readonly object: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly state: "refused" | "rejected" | "arriving" | "warning" | "live";
  readonly source: string;
  readonly generation?: number;
  readonly by?: string;
  readonly live: number;
  readonly concerned: number;
  /** The first reason why it is refused, rejected or doubtful. */
  readonly reason?: string;
}

function rowOf(status: ObjectStatus): ObjectRow {
  const { object, inForce } = status;
  const [kind = "", namespace = "", name = ""] = object.split("/");
  const { live = 0, concerned = 0 } = inForce?.distribution ?? {};
  const { state, reason } = stateOf(status);
  return {
    ...{ object, kind, namespace, name, state, live, concerned },
    source: inForce?.source?.split(" ")[0] ?? "",
    ...(inForce && { generation: inForce.generation, by: inForce.writer }),
    ...(reason !== undefined && { reason }),
  };
}

function stateOf({ state, problems, warnings, inForce }: ObjectStatus): Pick<ObjectRow, "state" | "reason"> {
  const text = ([first]: readonly { readonly field: string; readonly reason: string }[]) =>
    first && `${first.field} ${first.reason}`.trim();
  if (state === "refused" || inForce === undefined) return withReason("refused", text(problems));
  const { live, concerned, refusals } = inForce.distribution;
  if (refusals.length > 0) return withReason("rejected", refusals[0]?.message);
  if (live < concerned) return { state: "arriving" };
  return warnings.length > 0 ? withReason("warning", text(warnings)) : { state: "live" };
}

function withReason(state: ObjectRow["state"], reason: string | undefined): Pick<ObjectRow, "state" | "reason"> {
  return { state, ...(reason !== undefined && { reason }) };
}

const shape: ListShape<ObjectRow, "kind" | "namespace" | "state" | "source"> = {
  columns: {
    object: ({ object }) => object,
    kind: ({ kind }) => kind,
    namespace: ({ namespace }) => namespace,
    name: ({ name }) => name,
    state: ({ state }) => state,
    generation: ({ generation = 0 }) => generation,
    source: ({ source }) => source,
  },
  facets: {
    kind: ({ kind }) => kind,
    namespace: ({ namespace }) => namespace,
    state: ({ state }) => state,
    source: ({ source }) => source,
  },
  text: ({ object, state, source, reason = "", by = "" }) => `${object} ${state} ${source} ${reason} ${by}`,
  sort: "object",
};

/** Several who look at once, and a person who types, are answered from one look at all objects. */
const keptMs = 1_000;

/** `?search=&kind=&namespace=&state=&source=&sort=&offset=&limit=`, and how many objects are in each state whatever the query. */
export function objectRowsPage(statuses: ObjectStatuses, generation: () => number): HttpHandler {
  let kept:
    | { readonly atMs: number; readonly generation: number; readonly rows: Promise<readonly ObjectRow[]> }
    | undefined;
  return async ({ query }) => {
    const at = generation();
    if (kept === undefined || kept.generation !== at || performance.now() - kept.atMs > keptMs)
      kept = { atMs: performance.now(), generation: at, rows: gather(statuses.all()).then((all) => all.map(rowOf)) };
    const rows = await kept.rows;
    const page = listPage(rows, shape, query);
    if ("problem" in page) return { status: 400, json: { error: page.problem } };
    const states = Map.groupBy(rows, ({ state }) => state);
    const counts = Object.fromEntries([...states].map(([state, of]) => [state, of.length]));
    return { json: { ...page, generation: at, states: counts } };
  };
}

/** `?object=KIND/NAME.NAMESPACE`: its row, its status, and its manifest unless its content is not shown. */
export function objectDetailPage(
  statuses: ObjectStatuses,
  content: (object: ReturnType<typeof parseObjectName>) => LedgerContent,
  published: Pick<PublishedConfig, "get">,
): HttpHandler {
  return ({ query }) => {
    try {
      const key = parseObjectName(query.get("object") ?? "");
      const status = statuses.of(key);
      if (status === undefined) return { status: 404, json: { error: `there is no ${configKeyText(key)}` } };
      const shown = content(key);
      const withheld = shown !== null && isWithheld(shown) ? shown.withheld : undefined;
      const manifest = withheld === undefined ? shownManifest(shown) : undefined;
      const config = published.get(key)?.config;
      const source = config?.provenance?.source;
      return {
        json: {
          ...{ row: rowOf(status), status, conditions: conditionsOf(config?.status) },
          ...(source !== undefined && { source }),
          ...(withheld !== undefined && { withheld }),
          ...(manifest !== undefined && { manifest }),
        },
      };
    } catch (error) {
      if (error instanceof ConfigError) return { status: 400, json: { error: error.reason } };
      throw error;
    }
  };
}

function conditionsOf(status: unknown): readonly unknown[] {
  const { conditions } = (status ?? {}) as { readonly conditions?: unknown };
  return Array.isArray(conditions) ? conditions : [];
}
