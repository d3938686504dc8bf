/** The resources that an object went into, on the proxies of every replica of xds-server. */
import type { MadeResource, MadeResourcePage } from "@flotilla/console/contract";
import type { ListShape } from "@flotilla/http";
import type { ApiRequest } from "../serve/endpoint.ts";
import { awayOf, expectAnswer, type Services } from "../upstream/services.ts";
import { cut } from "./lists.ts";

const shape: ListShape<MadeResource> = {
  columns: {
    proxy: ({ proxy, type, name }) => `${proxy} ${type} ${name}`,
    type: ({ type }) => type,
    name: ({ name }) => name,
  },
  facets: {},
  text: ({ proxy, type, name }) => `${proxy} ${type} ${name}`,
  sort: "proxy",
};
/** As many as `/debug/made_from` looks for. */
const rowsOfReplica = "1000";

interface MadeFromPage {
  readonly rows: readonly MadeResource[];
  readonly isComplete: boolean;
}

/** Each replica looks at its own proxies; those that do not answer are named. @throws RequestRefused where none answers */
export async function madeFrom(services: Services, request: ApiRequest, object: string): Promise<MadeResourcePage> {
  const { query, session } = request;
  const question = { path: "/debug/made_from", query: { object, limit: rowsOfReplica }, token: session.token };
  const answers = await services.all<MadeFromPage>("xds-server", question);
  const pages = answers.flatMap((answer) => (answer.isAnswered ? [answer.value] : []));
  const [first] = answers;
  if (pages.length === 0 && first !== undefined) expectAnswer(first);
  // A proxy that moves is at two replicas for a moment.
  const rows = new Map(pages.flatMap((page) => page.rows.map((row) => [shape.text(row), row] as const)));
  const page = cut(rows.values(), shape, query);
  return { ...page, isComplete: pages.every(({ isComplete }) => isComplete), away: awayOf(answers) };
}
