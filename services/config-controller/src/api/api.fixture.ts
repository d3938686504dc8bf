/** For tests: the API over a store on an embedded bus, without sockets and, unless stated otherwise, with callers that may do everything. */
import { connectBus } from "@flotilla/bus";
import { noopLogger } from "@flotilla/runtime";
import { createValidator } from "@flotilla/validation";
import { ValidationThread } from "@flotilla/validation/aside";
import { ConfigTable } from "../store/config-table.ts";
import { type DurableStore, openDurableStore } from "../store/durable/durable-store.ts";
import { layeredStore } from "../store/layered-store.ts";
import { readOnlyStore } from "../store/source-store.ts";
import type { Access } from "./access.ts";
import { ApiError, statusOf } from "./api-error.ts";
import { EventHistory } from "./event-history.ts";
import { Objects } from "./objects.ts";
import { createRouter } from "./router.ts";

export interface TestApi extends AsyncDisposable {
  readonly durable: DurableStore;
  /** Objects in force from a source that precedes it. */
  readonly files: ConfigTable;
  call(method: string, url: string, body?: unknown, contentType?: string): Promise<TestReply>;
  watch(url: string, stop: AbortSignal): Promise<AsyncIterator<WatchLine>>;
}

interface TestReply {
  readonly status: number;
  readonly warnings: readonly string[];
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of all shapes.
  readonly body: any;
}

export interface WatchLine {
  readonly type: string;
  readonly object: {
    readonly code?: number;
    readonly metadata: { readonly name: string; readonly resourceVersion: string };
  };
}

let count = 0;

export async function openTestApi(keptEvents = 1_000, access: Access = async () => "test"): Promise<TestApi> {
  const url = `embedded:api-${++count}`;
  const bus = await connectBus({ url, clientName: "t", log: noopLogger }, new AbortController().signal);
  const values = await bus.keyValue("config");
  const bounds = { seal: undefined, maxBytes: 1_000_000, maxObjects: 1_000, maxWaiting: 1_000 };
  const clock = { nowMs: Date.now, random: Math.random };
  const durable = await openDurableStore({ name: "api", values, log: noopLogger, ...bounds, ...clock });
  const history = new EventHistory(durable, keptEvents);
  const files = new ConfigTable();
  const validate = createValidator();
  const thread = new ValidationThread();
  const objects = new Objects({
    durable,
    validate: (object) => validate({ ...object }),
    thread,
    hiddenBy: (key) => (files.has(key) ? "file:mesh" : undefined),
    randomName: () => "x7",
  });
  const inForce = layeredStore("in force", [readOnlyStore("file:mesh", files), durable.store]);
  const route = createRouter({ durable, objects, history, inForce, access, maxWatches: 2, version: "1" });
  const request = (method: string, target: string, body?: unknown, contentType = "application/json") => {
    const { pathname, searchParams } = new URL(target, "https://api");
    const text = typeof body === "string" ? body : body === undefined ? "" : JSON.stringify(body);
    const caller = { metadata: new Map(), remoteAddress: "127.0.0.1:1" };
    return {
      method,
      path: pathname,
      query: searchParams,
      contentType,
      body: async () => new TextEncoder().encode(text),
      caller,
    };
  };
  return {
    durable,
    files,
    call: async (...asked) => {
      try {
        const reply = await route(request(...asked), () => undefined);
        if ("lines" in reply) throw new RangeError("a watch is no answer");
        return { status: reply.status, body: reply.body, warnings: reply.warnings ?? [] };
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        return { status: error.status, body: statusOf(error), warnings: [] };
      }
    },
    watch: async (target, stop) => {
      const reply = await route(request("GET", target), () => undefined);
      if (!("lines" in reply)) throw new RangeError("no watch");
      return reply.lines(stop)[Symbol.asyncIterator]() as AsyncIterator<WatchLine>;
    },
    [Symbol.asyncDispose]: async () => {
      history[Symbol.dispose]();
      await thread[Symbol.asyncDispose]();
      await bus[Symbol.asyncDispose]();
    },
  };
}

export const root = "/apis/networking.istio.io/v1/namespaces/shop";

export function virtualService(name: string, host: string, metadata: object = {}) {
  return {
    apiVersion: "networking.istio.io/v1",
    kind: "VirtualService",
    metadata: { name, namespace: "shop", ...metadata },
    spec: { hosts: [host], http: [{ route: [{ destination: { host } }] }] },
  };
}
