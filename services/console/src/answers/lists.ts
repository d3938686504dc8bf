/** Lists that a service searches, filters and cuts: the caller's query is passed on, and rows come back as they are shown. */
import type { Page, ServiceName } from "@flotilla/console/contract";
import { type ListShape, listPage } from "@flotilla/http";
import { RequestRefused } from "../errors.ts";
import type { ApiRequest } from "../serve/endpoint.ts";
import { expectAnswer, type Services } from "../upstream/services.ts";

/** A list that one service has. `given`: parameters of the page beside the query. @throws RequestRefused */
export async function listOf<Answer extends Page<unknown>>(
  services: Services,
  {
    service,
    path,
    given = {},
  }: { readonly service: ServiceName; readonly path: string; readonly given?: Readonly<Record<string, string>> },
  { query, session }: Pick<ApiRequest, "query" | "session">,
): Promise<Answer> {
  const all = new URLSearchParams(query);
  for (const [name, value] of Object.entries(given)) all.set(name, value);
  const answer = await services.first<Omit<Answer, "away">>(service, { path, query: all, token: session.token });
  return { ...expectAnswer(answer), away: [] } as unknown as Answer;
}

/** A list that the console has put together. @throws RequestRefused bad-request */
export function cut<Row, Facet extends string>(
  rows: Iterable<Row>,
  shape: ListShape<Row, Facet>,
  query: URLSearchParams,
): Page<Row> & {
  readonly facets: Readonly<Record<Facet, readonly { readonly value: string; readonly count: number }[]>>;
} {
  const page = listPage(rows, shape, query);
  if ("problem" in page) throw new RequestRefused("bad-request", page.problem);
  return { ...page, away: [] };
}
