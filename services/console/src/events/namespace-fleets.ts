/**
 * The proxies of single namespaces, for callers who see no more of the mesh: the reports at config-controller have no counts by namespace, so xds-server is
 * asked, with a caller's token, once for all who listen in a namespace.
 */
import type { FleetEvent, ProxyPage } from "@flotilla/console/contract";
import type { Session } from "../session/sessions.ts";
import type { Services } from "../upstream/services.ts";

/** The proxies of a namespace are others than before, or got something. */
export interface NamespaceFleet {
  readonly namespace: string;
  readonly data: FleetEvent;
}

const everyMs = 5_000;
/** Rows whose messages are compared; of a larger namespace the counts alone. */
const comparedRows = "200";

export class NamespaceFleets {
  readonly #services: Pick<Services, "first">;
  /** Text of the last answer, by namespace; only of those where somebody listens. */
  readonly #known = new Map<string, string>();
  #atMs = Number.NEGATIVE_INFINITY;

  constructor(services: Pick<Services, "first">) {
    this.#services = services;
  }

  /** Nothing until `everyMs` have passed; the first answer about a namespace is no news. */
  async poll(sessions: Iterable<Session>, nowMs: number): Promise<readonly NamespaceFleet[]> {
    if (nowMs - this.#atMs < everyMs) return [];
    this.#atMs = nowMs;
    const byNamespace = Map.groupBy(sessions, ({ caller }) => caller.onlyNamespace ?? "");
    byNamespace.delete("");
    for (const namespace of this.#known.keys()) if (!byNamespace.has(namespace)) this.#known.delete(namespace);
    const answers = await Promise.all([...byNamespace].map(([namespace, of]) => this.#ask(namespace, of)));
    return answers.flat();
  }

  async #ask(namespace: string, sessions: readonly Session[]): Promise<readonly NamespaceFleet[]> {
    for (const token of new Set(sessions.map((session) => session.token))) {
      const query = { limit: comparedRows };
      const answer = await this.#services.first<ProxyPage>("xds-server", { path: "/debug/fleet", query, token });
      if (answer.isAnswered) return this.#news(namespace, answer.value);
      if (answer.status === undefined) return [];
    }
    return [];
  }

  #news(namespace: string, { total, rows, facets }: ProxyPage): readonly NamespaceFleet[] {
    const text = JSON.stringify([total, facets.state, rows]);
    const before = this.#known.get(namespace);
    this.#known.set(namespace, text);
    if (before === undefined || before === text) return [];
    const count = (state: string) => facets.state.find(({ value }) => value === state)?.count ?? 0;
    const byState = { synced: count("synced"), sending: count("sending"), rejected: count("rejected") };
    return [{ namespace, data: { total, byState } }];
  }
}
