/** The pages of the HTTPS server: /inject and /validate with anything behind them, and /ready. */

import type { Logger } from "@flotilla/runtime";
import { type AdmissionAnswer, type AdmissionRequest, formatReview, parseReview } from "../admission/review.ts";
import { WebhookError } from "../errors.ts";
import { type HttpsReply, type HttpsRequest, json, plain } from "./https-server.ts";

/** `path` is the request's: the injection reads environment of the proxy from it. */
type AdmissionHandler = (request: AdmissionRequest, path: string) => AdmissionAnswer | Promise<AdmissionAnswer>;

export interface RouterOptions {
  readonly inject: AdmissionHandler;
  readonly validate: AdmissionHandler;
  readonly isReady: () => boolean;
  readonly onHttpError: (status: number) => void;
  readonly log: Logger;
}

export function createRouter(options: RouterOptions): (request: HttpsRequest) => Promise<HttpsReply> {
  return async (request) => {
    const reply = await route(options, request);
    if (reply.status >= 400) options.onHttpError(reply.status);
    return reply;
  };
}

function route(options: RouterOptions, request: HttpsRequest): HttpsReply | Promise<HttpsReply> {
  const { inject, validate, isReady, log } = options;
  const { path } = request;
  if (path === "/ready") return isReady() ? plain(200, "ready") : plain(503, "not ready");
  if (isBelow("/inject", path)) return review(inject, request, log);
  if (isBelow("/validate", path)) return review(validate, request, log);
  return plain(404, `no page ${path}`);
}

/** Failures of a well-formed review are answers, not HTTP errors: only answers reach the object's author. */
async function review(
  handler: AdmissionHandler,
  { body, contentType, path }: HttpsRequest,
  log: Logger,
): Promise<HttpsReply> {
  if (body.byteLength === 0) return plain(400, "no body found");
  const [mediaType = ""] = contentType.split(";", 1);
  if (mediaType.trim().toLowerCase() !== "application/json") {
    return plain(415, "invalid Content-Type, want `application/json`");
  }
  try {
    const { apiVersion, request } = parseReview(body);
    return json(formatReview(apiVersion, request.uid, await judge(handler, request, path, log)));
  } catch (error) {
    if (!(error instanceof WebhookError) || error.code !== "ADMISSION_MALFORMED") throw error;
    return json(formatReview("admission.k8s.io/v1", "", { allowed: false, message: error.reason }));
  }
}

/** A fault of ours denies the object with its reason: a status of 500 would give the user no reason. */
async function judge(
  handler: AdmissionHandler,
  request: AdmissionRequest,
  path: string,
  log: Logger,
): Promise<AdmissionAnswer> {
  try {
    return await handler(request, path);
  } catch (error) {
    const { namespace, name, kind } = request;
    log.error("admission request failed", { path, namespace, name, kind: kind.kind, error });
    return { allowed: false, message: `internal error: ${error instanceof Error ? error.message : String(error)}` };
  }
}

function isBelow(page: string, path: string): boolean {
  return path === page || path.startsWith(`${page}/`);
}
