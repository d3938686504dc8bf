/** Maps requests to their answers, after the caller has proven the permission. */

import { anything, type ConfigStore, containsNull, isObject, StoreError } from "@flotilla/model";
import { withoutNullFields } from "@flotilla/registry/config";
import { TimeSlice } from "@flotilla/runtime";
import { parseDocumentAside } from "@flotilla/sources";
import { type DurableStore, onBehalfOf } from "../store/durable/durable-store.ts";
import type { Access } from "./access.ts";
import { ApiError, fromStore } from "./api-error.ts";
import { applyAll, deleteAll } from "./batch.ts";
import { discoveryDocument } from "./discovery.ts";
import type { EventHistory } from "./event-history.ts";
import type { ApiReply, ApiRequest } from "./https-server.ts";
import { type Objects, type Patch, type PatchType, shown } from "./objects.ts";
import type { Route } from "./observe.ts";
import { parseResourcePath, type ResourcePath } from "./resource-path.ts";
import { parseSelection } from "./selection.ts";
import type { Application } from "./server-side-apply.ts";
import { watchEvents } from "./watch.ts";

export interface RouterOptions {
  readonly durable: DurableStore;
  readonly objects: Objects;
  readonly history: EventHistory;
  /** All sources as one: the configuration in force. */
  readonly inForce: ConfigStore;
  readonly access: Access;
  readonly maxWatches: number;
  readonly version: string;
}

/** Beside the resources: several objects at once, and what is in force from whatever source. */
export const ownPaths = {
  apply: "/flotilla/v1/apply",
  delete: "/flotilla/v1/delete",
  inForce: "/flotilla/v1/in-force/",
};
const reading = ["GET", "HEAD"];
const defaultTimeoutMs = 1_800_000;
/** Nested YAML takes some 10 µs a character, in one step: no other caller is answered meanwhile. */
const maxYamlLength = 32_768;

export function createRouter(options: RouterOptions): Route {
  let watches = 0;
  const watch = (path: ResourcePath, query: URLSearchParams): ApiReply => {
    if (watches >= options.maxWatches)
      throw new ApiError(429, "TooManyRequests", `${watches} watches are open already`);
    const watching = watchOptions(options, path, query);
    return {
      lines: async function* (stop) {
        watches += 1;
        try {
          yield* watchEvents(watching, stop);
        } finally {
          watches -= 1;
        }
      },
    };
  };
  return async (request, onCaller) => {
    try {
      const { method, path } = request;
      const wanted = { write: !reading.includes(method), secrets: isAboutSecrets(path) };
      const caller = await options.access(request.caller, wanted);
      onCaller(caller);
      const durable = onBehalfOf(options.durable, caller);
      return await route({ ...options, durable, objects: options.objects.through(durable) }, request, watch);
    } catch (error) {
      throw error instanceof StoreError ? fromStore(error) : error;
    }
  };
}

async function route(
  options: RouterOptions,
  request: ApiRequest,
  watch: (path: ResourcePath, query: URLSearchParams) => ApiReply,
): Promise<ApiReply> {
  const { method, path, query } = request;
  const resource = parseResourcePath(path);
  const inForceKind = inForceKindOf(path);
  if (resource !== undefined) {
    const isWatch = reading.includes(method) && ["1", "true"].includes(query.get("watch") ?? "");
    return isWatch ? watch(resource, query) : answer(options, resource, request);
  }
  if (reading.includes(method)) {
    if (inForceKind !== undefined) return listInForce(options.inForce, inForceKind, query);
    const document = discoveryDocument(path, options.version);
    if (document !== undefined) return { status: 200, body: document };
  }
  const namespace = query.get("namespace") ?? "default";
  if (method === "POST" && path === ownPaths.apply)
    return applyAll(options, await objectsOf(request), { ...applicationOf(query), namespace }, isDryRun(query));
  if (method === "POST" && path === ownPaths.delete)
    return deleteAll(options, await bodyOf(request), namespace, isDryRun(query));
  throw new ApiError(404, "NotFound", `the server could not find the requested resource ${path}`);
}

function inForceKindOf(path: string): string | undefined {
  return path.startsWith(ownPaths.inForce) ? path.slice(ownPaths.inForce.length) : undefined;
}

function isAboutSecrets(path: string): boolean {
  return parseResourcePath(path)?.kind.name === "Secret" || inForceKindOf(path) === "Secret";
}

async function answer({ objects }: RouterOptions, path: ResourcePath, request: ApiRequest): Promise<ApiReply> {
  const { method, query } = request;
  const { name } = path;
  const dryRun = isDryRun(query);
  if (name === undefined) {
    if (reading.includes(method)) return objects.list(path, query);
    if (method === "POST") return objects.create(path, await objectsOf(request, path.kind.kind), dryRun);
    if (method === "DELETE") return objects.deleteCollection(path, query, dryRun);
  } else {
    if (reading.includes(method)) return objects.get(path, name);
    if (method === "PUT") return objects.update(path, name, await objectsOf(request, path.kind.kind), dryRun);
    if (method === "PATCH") {
      const patch = { ...(await patchOf(request, path)), ...applicationOf(query) };
      return objects.patch(path, name, patch, dryRun);
    }
    if (method === "DELETE" && !path.isStatus) return objects.delete(path, name, await bodyOf(request, {}), dryRun);
  }
  throw new ApiError(405, "MethodNotAllowed", `${method} is not for ${request.path}`);
}

async function listInForce(store: ConfigStore, kind: string, query: URLSearchParams): Promise<ApiReply> {
  const configs = (await store.list(kind, query.get("namespace") ?? "")).filter(parseSelection(query));
  const items = configs.map((config) => ({ object: shown(config), provenance: config.provenance }));
  return { status: 200, body: { items } };
}

function watchOptions({ durable, history }: RouterOptions, path: ResourcePath, query: URLSearchParams) {
  const { kind, namespace, apiVersion, name } = path;
  const selects = parseSelection(query);
  const timeoutSeconds = Number(query.get("timeoutSeconds") ?? Number.NaN);
  return {
    history,
    version: () => durable.version,
    present: () => durable.all(),
    isWanted: (config: Parameters<typeof selects>[0]) =>
      config.key.kind === kind.name &&
      (namespace === "" || config.key.namespace === namespace) &&
      (name === undefined || config.key.name === name) &&
      selects(config),
    show: (config: Parameters<typeof selects>[0]) => shown(config, apiVersion),
    since: query.get("resourceVersion") ?? undefined,
    timeoutMs: timeoutSeconds > 0 ? Math.min(timeoutSeconds * 1_000, defaultTimeoutMs) : defaultTimeoutMs,
    bookmarks: ["1", "true"].includes(query.get("allowWatchBookmarks") ?? ""),
    initialEvents: query.get("sendInitialEvents") === "true",
    bookmark: (version: number, isInitialEnd: boolean) => {
      const annotations = { "k8s.io/initial-events-end": "true" };
      const metadata = { resourceVersion: String(version), ...(isInitialEnd && { annotations }) };
      return { apiVersion, kind: kind.kind, metadata };
    },
  };
}

/** @throws ApiError 400 */
async function bodyOf({ body, contentType }: ApiRequest, whenEmpty?: unknown): Promise<unknown> {
  if (contentType === "application/vnd.kubernetes.protobuf")
    throw new ApiError(415, "UnsupportedMediaType", "objects are taken as JSON or YAML");
  const bytes = await body();
  // Megabytes take tens of milliseconds in each of these steps.
  const timeSlice = new TimeSlice();
  const text = new TextDecoder().decode(bytes);
  if (text === "" && whenEmpty !== undefined) return whenEmpty;
  const { value, reason } = contentType.endsWith("yaml") ? await yamlOf(text) : jsonOf(text);
  if (timeSlice.isDue) await timeSlice.yield();
  const problem = reason ?? anything(value);
  if (timeSlice.isDue) await timeSlice.yield();
  if (problem !== undefined) throw new ApiError(400, "BadRequest", `the body cannot be read: ${problem.trim()}`);
  return value;
}

/** An object, or a List of some, without fields that are null. @param kind of an object that names none. @throws ApiError 400 */
async function objectsOf(request: ApiRequest, kind = ""): Promise<unknown> {
  const body = await bodyOf(request);
  return inOneStep(() => withoutNullsWithin(body, kind));
}

async function patchOf(request: ApiRequest, path: ResourcePath): Promise<Patch> {
  const type = patchType(request.contentType, path);
  if (type === "apply") return { type, body: await objectsOf(request, path.kind.kind), mayAddNulls: false };
  const body = await bodyOf(request);
  return { type, body, mayAddNulls: await inOneStep(() => containsNull(body)) };
}

/** Megabytes take several milliseconds in each step: what follows begins in another turn of the event loop then. */
async function inOneStep<Result>(work: () => Result): Promise<Result> {
  const timeSlice = new TimeSlice();
  const result = work();
  if (timeSlice.isDue) await timeSlice.yield();
  return result;
}

function withoutNullsWithin(body: unknown, otherwise: string): unknown {
  if (!isObject(body)) return body;
  const { kind, items } = body;
  if (kind === "List" && Array.isArray(items))
    return { ...body, items: items.map((item) => withoutNullsWithin(item, otherwise)) };
  return withoutNullFields(typeof kind === "string" ? kind : otherwise, body);
}

interface Read {
  readonly value?: unknown;
  readonly reason?: string;
}

function jsonOf(text: string): Read {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { reason: error.message };
  }
}

/** By the parser of files: its work on a text is bounded. JSON is YAML, too, and is read as JSON. */
async function yamlOf(text: string): Promise<Read> {
  const json = jsonOf(text);
  if (json.reason === undefined) return json;
  if (text.length > maxYamlLength)
    throw new ApiError(
      413,
      "RequestEntityTooLarge",
      `YAML is taken up to ${maxYamlLength} characters, JSON beyond that`,
    );
  const parsed = await parseDocumentAside(text);
  if (parsed.ok) return { value: parsed.value };
  return { reason: parsed.problems.map(({ line, reason }) => `line ${line}: ${reason}`).join("; ") };
}

/** Kinds of Kubernetes itself are patched by kubectl with strategic merge patches: the stored ones have no lists with keys. */
function patchType(contentType: string, { kind }: ResourcePath): PatchType {
  if (contentType === "application/json-patch+json") return "json";
  if (contentType === "application/merge-patch+json") return "merge";
  if (contentType.startsWith("application/apply-patch+")) return "apply";
  if (contentType === "application/strategic-merge-patch+json" && kind.message === undefined) return "merge";
  throw new ApiError(
    415,
    "UnsupportedMediaType",
    `patches of ${kind.kind} are not taken as ${contentType || "nothing"}: use a merge patch, a JSON patch or apply`,
  );
}

function applicationOf(query: URLSearchParams): Application {
  const manager = query.get("fieldManager") ?? "unknown";
  if (!/^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/.test(manager))
    throw new ApiError(400, "BadRequest", `fieldManager ${JSON.stringify(manager)} is no name`);
  return { manager, force: query.get("force") === "true" };
}

/** @throws ApiError 400 */
function isDryRun(query: URLSearchParams): boolean {
  const values = query.getAll("dryRun");
  const wrong = values.find((value) => value !== "All" && value !== "");
  if (wrong !== undefined) throw new ApiError(400, "BadRequest", `dryRun ${JSON.stringify(wrong)} is not All`);
  return values.includes("All");
}
