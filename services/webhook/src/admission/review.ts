/** AdmissionReviews: requests of the Kubernetes API and their responses. Both versions differ in nothing that matters here. */

import { isObject, type KubeObject, ownValue } from "@flotilla/model";
import { WebhookError } from "../errors.ts";
import type { PatchOperation } from "../patch/json-patch.ts";

export interface AdmissionRequest {
  readonly uid: string;
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string };
  readonly namespace: string;
  readonly name: string;
  /** CREATE, UPDATE, DELETE, CONNECT. */
  readonly operation: string;
  readonly dryRun: boolean;
  /** Absent in a DELETE. */
  readonly object: KubeObject | undefined;
  /** The review that it was read from. */
  readonly body?: Uint8Array;
}

export interface AdmissionAnswer {
  readonly allowed: boolean;
  /** Why not. */
  readonly message?: string;
  readonly warnings?: readonly string[];
  readonly patch?: readonly PatchOperation[];
  /** The same as JSON, where it is known. */
  readonly patchText?: string;
}

export interface AdmissionReview {
  readonly apiVersion: "admission.k8s.io/v1" | "admission.k8s.io/v1beta1";
  readonly request: AdmissionRequest;
}

/** @throws WebhookError ADMISSION_MALFORMED */
export function parseReview(body: Uint8Array): AdmissionReview {
  const review = parseJson(body);
  const { apiVersion, kind, request } = review;
  if (kind !== "AdmissionReview") malformed(`kind is ${JSON.stringify(kind)}, not AdmissionReview`);
  if (apiVersion !== "admission.k8s.io/v1" && apiVersion !== "admission.k8s.io/v1beta1") {
    return malformed(`apiVersion ${JSON.stringify(apiVersion)} is not supported`);
  }
  if (!isObject(request)) return malformed("request is missing");
  const { uid, kind: asked, object } = request;
  if (typeof uid !== "string") return malformed("request.uid is missing");
  return {
    apiVersion,
    request: {
      uid,
      kind: { group: textOf(asked, "group"), version: textOf(asked, "version"), kind: textOf(asked, "kind") },
      namespace: textOf(request, "namespace"),
      name: textOf(request, "name"),
      operation: textOf(request, "operation"),
      dryRun: request["dryRun"] === true,
      object: isObject(object) ? (object as unknown as KubeObject) : undefined,
      body,
    },
  };
}

/** The answer in the version of the question; `uid` is empty when the question could not be read. */
export function formatReview(
  apiVersion: AdmissionReview["apiVersion"],
  uid: string,
  { allowed, message, warnings = [], patch = [], patchText }: AdmissionAnswer,
): object {
  const text = patchText ?? (patch.length === 0 ? undefined : JSON.stringify(patch));
  const response = {
    uid,
    allowed,
    ...(message === undefined ? {} : { status: { message } }),
    ...(warnings.length === 0 ? {} : { warnings }),
    ...(text === undefined ? {} : { patchType: "JSONPatch", patch: Buffer.from(text).toString("base64") }),
  };
  return { apiVersion, kind: "AdmissionReview", response };
}

type JsonObject = Readonly<Record<string, unknown>>;

function parseJson(body: Uint8Array): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch (cause) {
    throw new WebhookError("ADMISSION_MALFORMED", `could not decode body: ${(cause as Error).message}`, { cause });
  }
  return isObject(value) ? value : malformed("the body is no object");
}

function textOf(object: unknown, field: string): string {
  const value = isObject(object) ? ownValue(object, field) : undefined;
  return typeof value === "string" ? value : "";
}

function malformed(reason: string): never {
  throw new WebhookError("ADMISSION_MALFORMED", `could not decode body: ${reason}`);
}
