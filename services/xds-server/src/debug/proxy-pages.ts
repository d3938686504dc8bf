/** Pages about connected proxies: their streams, what they were sent, what they get. */
import type { JsonObject, JsonValue } from "@flotilla/proto";
import type { HttpReply } from "@flotilla/runtime";
import type { Core } from "../app/core.ts";
import type { StreamRecord } from "../serve/stream-record.ts";
import { configDump, resourcesOf } from "./config-dump.ts";
import { findStream } from "./find-stream.ts";
import type { FleetStatus } from "./fleet-status.ts";
import { type DebugPage, plain, type Question } from "./page.ts";
import { syncz } from "./syncz.ts";
import { maySee } from "./viewer.ts";

export interface ProxyPageSources {
  readonly core: Core;
  readonly streams: () => readonly StreamRecord[];
  readonly disconnect: (streamId: string) => boolean;
  readonly fleet: FleetStatus;
}

export function proxyPages(sources: ProxyPageSources): readonly DebugPage[] {
  const { core, streams, disconnect, fleet } = sources;
  const seen = ({ viewer }: Question) => streams().filter(({ proxy }) => maySee(viewer, proxy.namespace));
  const ofType = (type: Parameters<typeof resourcesOf>[2]) => (question: Question) =>
    aboutProxy(sources, question, (stream) => ({ json: { configs: resourcesOf(core, stream, type) } }));
  return [
    {
      path: "syncz",
      help: "versions that every proxy of the fleet was sent and has acknowledged; ?fleet=false: those connected here",
      scope: "namespace",
      answer: async ({ query, viewer }) => {
        const all = query.get("fleet") === "false" ? fleet.own() : await fleet.all();
        return { json: syncz(all.filter(({ namespace }) => maySee(viewer, namespace))) };
      },
    },
    {
      path: "adsz",
      help: "the streams connected here and their subscriptions",
      scope: "namespace",
      answer: (question) => ({ json: clientsOf(seen(question), true) }),
    },
    {
      path: "connections",
      help: "the streams connected here",
      scope: "namespace",
      answer: (question) => ({ json: clientsOf(seen(question), false) }),
    },
    {
      path: "config_dump",
      help: "resources of a proxy (?proxyID=name.namespace), as Envoy's config_dump shows it; ?types=cds,lds,… for a part",
      scope: "namespace",
      answer: (question) =>
        aboutProxy(sources, question, (stream) => ({
          json: { configs: configDump(core, stream, question.query.get("types")) },
        })),
    },
    { path: "edsz", help: "the endpoints that a proxy gets", scope: "namespace", answer: ofType("endpoint") },
    { path: "ecdsz", help: "the extensions that a proxy gets", scope: "namespace", answer: ofType("extensionConfig") },
    { path: "ndsz", help: "the DNS table that a proxy gets", scope: "namespace", answer: ofType("nameTable") },
    {
      path: "force_disconnect",
      help: "asks a proxy to connect again",
      scope: "mesh",
      isUnsafe: true,
      answer: (question) =>
        aboutProxy(sources, question, (stream) => {
          disconnect(stream.id);
          return plain(200, "OK");
        }),
    },
  ];
}

/** Set on redirects: records of a proxy that just moved may name each other. */
const redirected = "redirected";

/** A page about one proxy, by `?proxyID=`; of one that is connected to another replica the answer is there. */
export async function aboutProxy(
  { streams, fleet }: Pick<ProxyPageSources, "streams" | "fleet">,
  { path, query, viewer }: Question,
  answer: (stream: StreamRecord) => HttpReply,
): Promise<HttpReply> {
  const id = query.get("proxyID");
  if (id === null || id === "") return plain(400, "You must provide a proxyID in the query string");
  const stream = findStream(streams(), id, viewer);
  if (stream !== undefined) return answer(stream);
  const other = viewer.namespace === undefined ? await fleet.elsewhere(id) : undefined;
  if (other === undefined)
    return plain(404, `Proxy ${id} is not connected to this replica, nor to another one that reports it.`);
  const sentence = `Proxy ${id} is not connected to this replica but to ${other.replica}.`;
  if (other.pages === undefined || query.has(redirected)) return plain(404, sentence);
  const location = `${other.pages}/debug/${path}?${new URLSearchParams([...query, [redirected, "true"]])}`;
  return { status: 307, text: `${sentence}\n`, location };
}

function clientsOf(streams: readonly StreamRecord[], withDetails: boolean): JsonObject {
  return {
    totalClients: streams.length,
    ...(streams.length > 0 && { clients: streams.map((stream) => clientOf(stream, withDetails)) }),
  };
}

function clientOf(stream: StreamRecord, withDetails: boolean): JsonObject {
  const { id, proxy, peer, connectedAtMs } = stream;
  const connection = { connectionId: id, connectedAt: new Date(connectedAtMs).toISOString(), address: peer };
  if (!withDetails) return connection;
  const { labels, metadata, locality } = proxy;
  return {
    ...connection,
    labels: { ...labels },
    metadata: metadata as JsonObject,
    locality: { ...locality },
    watches: Object.fromEntries(
      [...stream.types()].map(([url, type]): [string, JsonValue] => [url, [...type.names()]]),
    ),
  };
}
