/** Generations of the configuration, and what two of them differ in. */
import type {
  Arrival,
  ChangedObject,
  ChangePage,
  Comparison,
  GenerationRow,
  ObjectHistory,
} from "@flotilla/console/contract";
import type { ListShape } from "@flotilla/http";
import { stringify } from "yaml";
import { RequestRefused } from "../errors.ts";
import { type ApiRequest, type Handlers, required } from "../serve/endpoint.ts";
import { awayOf, expectAnswer, type Services } from "../upstream/services.ts";
import { cut, listOf } from "./lists.ts";

type ChangeHandlers = Pick<Handlers, "GET /api/v1/changes" | "GET /api/v1/changes/compare">;

export function changeHandlers(services: Services): ChangeHandlers {
  return {
    "GET /api/v1/changes": async (request) =>
      withArrivals(
        services,
        request,
        await listOf<ChangePage>(services, { service: "config-controller", path: "/debug/generations" }, request),
      ),
    "GET /api/v1/changes/compare": async (request) => {
      const [from, to] = [generationIn(request.query, "from"), generationIn(request.query, "to")];
      const objects = await differences(services, request, { from, to });
      return { ...cut(objects, shape, request.query), from, to } satisfies Comparison;
    },
  };
}

type CountedArrival = Arrival & { readonly generation: number };

/** Each replica of xds-server counts for its proxies; counts of an unreachable one are missing, and it is named. */
async function withArrivals(
  services: Services,
  { session: { token } }: Pick<ApiRequest, "session">,
  page: ChangePage,
): Promise<ChangePage> {
  if (page.rows.length === 0) return page;
  const query = { generations: page.rows.map(({ generation }) => generation).join(",") };
  const path = "/debug/arrivals";
  const answers = await services.all<{ readonly arrivals: readonly CountedArrival[] }>("xds-server", {
    ...{ path, query, token },
  });
  const counted = Map.groupBy(
    answers.flatMap((answer) => (answer.isAnswered ? answer.value.arrivals : [])),
    ({ generation }) => generation,
  );
  const rows = page.rows.map((row) => {
    const parts = counted.get(row.generation);
    return parts === undefined ? row : { ...row, arrival: joinedArrival(parts) };
  });
  return { ...page, rows, away: [...page.away, ...awayOf(answers)] };
}

function joinedArrival(parts: readonly Arrival[]): Arrival {
  const sum = (field: "messages" | "bytes" | "waiting" | "rejections") =>
    parts.reduce((total, part) => total + part[field], 0);
  const times = parts.flatMap(({ lastAckMs }) => lastAckMs ?? []);
  return {
    ...{ messages: sum("messages"), bytes: sum("bytes"), waiting: sum("waiting"), rejections: sum("rejections") },
    together: Math.max(...parts.map(({ together }) => together)),
    ...(times.length > 0 && { lastAckMs: Math.max(...times) }),
  };
}

const shape: ListShape<ChangedObject> = {
  columns: { object: ({ object }) => object },
  facets: {},
  text: ({ object, op }) => `${object} ${op}`,
  sort: "object",
  others: ["from", "to"],
};

/** @throws RequestRefused bad-request */
function generationIn(query: URLSearchParams, name: string): number {
  const text = required(query, name);
  if (!/^\d{1,15}$/.test(text)) throw new RequestRefused("bad-request", `${name} is the number of a generation`);
  return Number(text);
}

/** As `/debug/diff?contents=true` of config-controller answers it. */
interface Diff {
  readonly objects: readonly (Omit<ChangedObject, "before" | "after" | "differences"> & {
    readonly differences?: ChangedObject["differences"];
    readonly before?: object;
    readonly after?: object;
  })[];
}

async function differences(
  services: Services,
  { session: { token } }: Pick<ApiRequest, "session">,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<readonly ChangedObject[]> {
  const query = { from: String(from), to: String(to), contents: "true" };
  const answer = await services.first<Diff>("config-controller", { path: "/debug/diff", query, token });
  return expectAnswer(answer).objects.map(({ object, op, withheld, differences: of = [], before, after }) => ({
    ...{ object, op, differences: of },
    ...(withheld !== undefined && { withheld }),
    ...(before !== undefined && { before: stringify(before) }),
    ...(after !== undefined && { after: stringify(after) }),
  }));
}

/** Each is read back from what config-controller keeps. */
const maxHistory = 20;

/** The generations of one object, each with what it changed; without that for the oldest, before which nothing is kept. */
export async function objectHistory(services: Services, request: ApiRequest, object: string): Promise<ObjectHistory> {
  const query = new URLSearchParams(request.query);
  if (Number(query.get("limit") ?? maxHistory) > maxHistory || query.get("limit") === null)
    query.set("limit", String(maxHistory));
  const page = await listOf<ChangePage>(
    services,
    { service: "config-controller", path: "/debug/generations", given: { object } },
    { ...request, query },
  );
  const arrived = await withArrivals(services, request, page);
  const rows = await Promise.all(arrived.rows.map((row) => withChange(services, request, { row, object })));
  return { ...arrived, rows };
}

async function withChange(
  services: Services,
  request: ApiRequest,
  { row, object }: { readonly row: GenerationRow; readonly object: string },
): Promise<ObjectHistory["rows"][number]> {
  const { generation } = row;
  try {
    const changed = await differences(services, request, { from: generation - 1, to: generation });
    const change = changed.find((one) => one.object === object);
    return { ...row, ...(change !== undefined && { change }) };
  } catch (error) {
    // Contents before the oldest generation are not kept.
    if (error instanceof RequestRefused && error.code === "bad-request") return row;
    throw error;
  }
}
