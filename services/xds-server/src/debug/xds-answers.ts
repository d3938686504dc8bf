/**
 * Debug questions over xDS: `istio.io/debug/syncz` and `istio.io/debug/config_dump` in Envoy's messages, for
 * `istioctl proxy-status`; every page as `istio.io/debug`, with the page's path as the resource name.
 */
import { AnySchema, debugTypeUrl, fromJson, type JsonObject } from "@flotilla/proto";
import type { HttpReply } from "@flotilla/runtime";
import type { Resource } from "@flotilla/xds";
import type { Core } from "../app/core.ts";
import type { DebugAnswers } from "../serve/debug-answers.ts";
import type { StreamRecord } from "../serve/stream-record.ts";
import { clientConfigResource } from "./client-config.ts";
import { configDump } from "./config-dump.ts";
import { findStream } from "./find-stream.ts";
import type { FleetStatus } from "./fleet-status.ts";
import type { DebugPage } from "./page.ts";
import { answerPage } from "./pages.ts";
import { type AccessRules, maySee, type Refusal, type Viewer, viewerOf } from "./viewer.ts";

export interface AnswerSources {
  readonly core: Core;
  readonly streams: () => readonly StreamRecord[];
  readonly fleet: FleetStatus;
  readonly pages: () => readonly DebugPage[];
}

type Answer = readonly Resource[] | Refusal;

export function createDebugAnswers(sources: AnswerSources, rules: AccessRules): DebugAnswers {
  return async (typeUrl, names, { identities }) => {
    const viewer = viewerOf(identities, rules);
    if ("refused" in viewer) return viewer;
    if (typeUrl === `${debugTypeUrl}/syncz`) return syncz(sources, viewer);
    const [name, ...more] = names;
    // An unknown question has an empty answer; one without exactly one name is a mistake of the client.
    if (typeUrl === `${debugTypeUrl}/config_dump`)
      return name === undefined || more.length > 0 ? [] : dumpOf(sources, name, viewer);
    if (typeUrl !== debugTypeUrl) return [];
    if (name === undefined || more.length > 0)
      return { refused: "invalid", message: "exactly one debug request is required" };
    return answer(sources, name, viewer);
  };
}

async function syncz({ fleet }: AnswerSources, viewer: Viewer): Promise<readonly Resource[]> {
  const proxies = await fleet.all();
  return proxies.filter(({ namespace }) => maySee(viewer, namespace)).map(clientConfigResource);
}

function dumpOf({ core, streams }: AnswerSources, proxy: string, viewer: Viewer): readonly Resource[] {
  const stream = findStream(streams(), proxy, viewer);
  return stream === undefined ? [] : configDump(core, stream).map(packed);
}

function packed(json: JsonObject): Resource {
  const { typeUrl, value } = fromJson(AnySchema, json);
  return { name: "", typeUrl, version: "", bytes: value };
}

/** `name`: the path and query of a page, without `/debug/`. */
async function answer({ pages }: AnswerSources, name: string, viewer: Viewer): Promise<Answer> {
  const url = new URL(name, "http://localhost/");
  const page = pages().find(({ path }) => `/${path}` === url.pathname);
  if (page === undefined) return { refused: "invalid", message: `there is no debug page ${JSON.stringify(name)}` };
  const outcome = await answerPage(page, url.searchParams, viewer);
  return "refused" in outcome ? outcome : [{ name, typeUrl: debugTypeUrl, version: "", bytes: bodyOf(outcome) }];
}

function bodyOf(reply: HttpReply): Uint8Array {
  return new TextEncoder().encode("json" in reply ? JSON.stringify(reply.json) : reply.text);
}
