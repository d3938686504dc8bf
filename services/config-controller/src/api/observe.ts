/** Counts what the API is asked, and notes in the log who wrote. */
import type { Counter, Histogram, Logger, Metrics } from "@flotilla/runtime";
import { ApiError } from "./api-error.ts";
import type { ApiReply, ApiRequest } from "./https-server.ts";

export interface ApiMetrics {
  readonly requests: Counter<"verb" | "code">;
  readonly seconds: Histogram<"verb">;
}

export function declareApiMetrics(metrics: Metrics): ApiMetrics {
  return {
    requests: metrics.counter({
      name: "flotilla_api_requests_total",
      help: "Requests to the API for meshes without Kubernetes, by method and status.",
      labels: ["verb", "code"],
    }),
    seconds: metrics.histogram({
      name: "flotilla_api_request_seconds",
      help: "From a request to its answer; watches are not counted.",
      labels: ["verb"],
    }),
  };
}

export interface ObserveOptions {
  readonly metrics: ApiMetrics;
  readonly log: Logger;
  readonly nowMs: () => number;
}

export type Route = (request: ApiRequest, onCaller: (name: string) => void) => Promise<ApiReply>;

const verbs: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]);
const reading: ReadonlySet<string> = new Set(["GET", "HEAD"]);

export function observed(
  route: Route,
  { metrics, log, nowMs }: ObserveOptions,
): (request: ApiRequest) => Promise<ApiReply> {
  return async (request) => {
    const { method, path } = request;
    // Anybody can make up a method.
    const verb = verbs.has(method) ? method : "other";
    const startedMs = nowMs();
    let caller = "";
    const count = (code: number): void => {
      metrics.requests.add(1, { verb, code });
      metrics.seconds.observe((nowMs() - startedMs) / 1000, { verb });
      if (!reading.has(method)) log.info("write requested", { caller, method, path, status: code });
    };
    try {
      const reply = await route(request, (name) => {
        caller = name;
      });
      if ("lines" in reply) metrics.requests.add(1, { verb: "WATCH", code: 200 });
      else count(reply.status);
      return reply;
    } catch (error) {
      count(error instanceof ApiError ? error.status : 500);
      throw error;
    }
  };
}
