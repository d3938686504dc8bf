/** Read-only pages on the stages, at istiod's paths. */
import type { Health } from "@flotilla/runtime";
import type { SnapshotStore } from "@flotilla/state";
import type { Core } from "../core.ts";
import type { Ingest } from "../ingest/ingest.ts";
import type { AdsServer } from "../serve/ads-server.ts";
import { configDump } from "./config-dump.ts";
import { findStream } from "./find-stream.ts";
import { syncz } from "./syncz.ts";

export interface PageSources {
  readonly core: Core;
  readonly ads: AdsServer;
  readonly store: SnapshotStore;
  readonly ingest: Ingest;
  readonly nowMs: () => number;
}

export function debugPages(pages: Health, { core, ads, store, ingest }: PageSources): void {
  const get = pages.route.bind(pages, "GET");
  get("/debug/syncz", async ({ query }) => {
    const own = syncz(ads.streams());
    if (query.get("fleet") === "false" || !store.state.connected) return { json: own };
    const records = [...(await store.replicas()).values()] as readonly { readonly proxies: typeof own }[];
    const others = records
      .flatMap(({ proxies }) => proxies)
      .filter(({ proxy }) => !own.some((one) => one.proxy === proxy));
    return { json: [...own, ...others] };
  });
  get("/debug/connections", () => ({
    json: {
      totalClients: ads.streams().length,
      clients: ads.streams().map(({ id, proxy, peer, connectedAtMs }) => ({
        connectionId: id,
        connectedAt: new Date(connectedAtMs).toISOString(),
        address: peer,
        proxy: proxy.id,
      })),
    },
  }));
  get("/debug/config_dump", ({ query }) => {
    const stream = findStream(ads.streams(), query.get("proxyID"));
    if (stream === undefined)
      return { status: 404, json: { error: `no proxy ${query.get("proxyID")} is connected here` } };
    return { json: configDump(core, stream.proxy) };
  });
  get("/debug/explain", ({ query }) => {
    const stream = findStream(ads.streams(), query.get("proxyID"));
    const [type, name] = [query.get("type"), query.get("name")];
    if (stream === undefined || type === null || name === null) {
      return { status: 400, json: { error: "explain needs proxyID of a connected proxy, type (a type URL) and name" } };
    }
    return {
      json: { proxy: stream.proxy.id, type, name, madeFrom: core.explain(core.subjectOf(stream.proxy), type, name) },
    };
  });
  get("/debug/push_status", () => ({ json: byMetric(core.findings()) }));
  get("/debug/position", () => ({ json: { position: ingest.position, graph: core.stats() } }));
}

/** Findings in the shape of istiod's push status: metric → object → message. */
function byMetric(
  findings: ReturnType<Core["findings"]>,
): Readonly<Record<string, Readonly<Record<string, { readonly message: string }>>>> {
  const status: Record<string, Record<string, { readonly message: string }>> = {};
  for (const { metric, object, message } of findings) {
    status[metric] ??= {};
    (status[metric] ?? {})[object] = { message };
  }
  return status;
}
