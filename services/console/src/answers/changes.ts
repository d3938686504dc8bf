/** Generations of the configuration, and what two of them differ in. */
import type { ChangedObject, ChangePage, Comparison, GenerationRow, ObjectHistory } from "@flotilla/console/contract";
import type { ListShape } from "@flotilla/http";
import { stringify } from "yaml";
import { RequestRefused } from "../errors.ts";
import { type ApiRequest, type Handlers, required } from "../serve/endpoint.ts";
import { expectAnswer, type Services } from "../upstream/services.ts";
import { cut, listOf } from "./lists.ts";

type ChangeHandlers = Pick<Handlers, "GET /api/v1/changes" | "GET /api/v1/changes/compare">;

export function changeHandlers(services: Services): ChangeHandlers {
  return {
    "GET /api/v1/changes": (request) =>
      listOf<ChangePage>(services, { service: "config-controller", path: "/debug/generations" }, request),
    "GET /api/v1/changes/compare": async (request) => {
      const [from, to] = [generationIn(request.query, "from"), generationIn(request.query, "to")];
      const objects = await differences(services, request, { from, to });
      return { ...cut(objects, shape, request.query), from, to } satisfies Comparison;
    },
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
  const rows = await Promise.all(page.rows.map((row) => withChange(services, request, { row, object })));
  return { ...page, rows };
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
