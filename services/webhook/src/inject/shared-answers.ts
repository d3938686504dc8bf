/**
 * Answers shared by the pods of one ReplicaSet: their injection is the same work. Such pods differ in the values that the API server gives
 * each of them: its name, its uid and the name of the volume with its token. A template may read one of these, which is not guessed: an
 * answer is shared once two pods that differ in them were answered alike.
 */
import { createHash } from "node:crypto";
import { isObject } from "@flotilla/model";
import type { AdmissionAnswer, AdmissionRequest } from "../admission/review.ts";

export interface SharedAnswersOptions {
  /** Answers that are kept; the ones that were not asked for the longest go first. */
  readonly maxEntries: number;
  /** Longer patches are not kept. */
  readonly maxPatchLength: number;
}

/** The inputs of an answer beside the request: all answers are dropped when one of them is another. */
export type Inputs = readonly unknown[];

type Entry =
  /** Of most pods there is no second: a patch of several kB is kept by its digest alone. `identity` is the first pod's. */
  | { readonly state: "once"; readonly patchDigest: string; readonly identity: string }
  /** `patch` has the pod's own names replaced. */
  | { readonly state: "shared"; readonly patch: string; readonly warnings: readonly string[] }
  | { readonly state: "different" };

export class SharedAnswers {
  readonly #options: SharedAnswersOptions;
  readonly #entries = new Map<string, Entry>();
  #inputs: Inputs = [];

  constructor(options: SharedAnswersOptions) {
    this.#options = options;
  }

  /** `compute` answers this one request. */
  answer(
    { request, path, inputs }: { readonly request: AdmissionRequest; readonly path: string; readonly inputs: Inputs },
    compute: () => AdmissionAnswer,
  ): AdmissionAnswer {
    if (inputs.length !== this.#inputs.length || inputs.some((input, index) => input !== this.#inputs[index])) {
      this.#inputs = inputs;
      this.#entries.clear();
    }
    const pod = identify(request, path);
    if (pod === undefined) return compute();
    const entry = this.#entries.get(pod.digest);
    if (entry?.state === "shared") {
      this.#keep(pod.digest, entry);
      const { patch, warnings } = entry;
      return { allowed: true, warnings, patchText: patch.replaceAll(placeholder, pod.token) };
    }
    const answer = compute();
    if (entry?.state !== "different") this.#learn(pod, answer, entry);
    return answer;
  }

  #learn(
    pod: Identified,
    { allowed, patch, warnings = [] }: AdmissionAnswer,
    entry: (Entry & { readonly state: "once" }) | undefined,
  ): void {
    if (!allowed || patch === undefined) return;
    const text = pod.token === "" ? JSON.stringify(patch) : JSON.stringify(patch).replaceAll(pod.token, placeholder);
    if (text.length > this.#options.maxPatchLength) return;
    if (entry?.identity === pod.identity) return;
    const patchDigest = digestOf(text);
    if (entry === undefined) this.#keep(pod.digest, { state: "once", patchDigest, identity: pod.identity });
    else if (entry.patchDigest !== patchDigest) this.#keep(pod.digest, { state: "different" });
    else this.#keep(pod.digest, { state: "shared", patch: text, warnings });
  }

  #keep(digest: string, entry: Entry): void {
    this.#entries.delete(digest);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size >= this.#options.maxEntries && oldest !== undefined) this.#entries.delete(oldest);
    this.#entries.set(digest, entry);
  }
}

interface Identified {
  /** Of all that pods of one ReplicaSet have in common. */
  readonly digest: string;
  /** The values that are this pod's own. */
  readonly identity: string;
  /** Name of the volume with its token; empty where there is none. */
  readonly token: string;
}

/** No generated name has a 0. */
const placeholder = "kube-api-access-00000";
const tokenVolume = /^kube-api-access-[a-z0-9]{5}$/;

/** Undefined for a pod that somebody gave a name to: there is no other like it. */
function identify({ object, namespace }: AdmissionRequest, path: string): Identified | undefined {
  const { metadata, spec } = (object ?? {}) as { readonly metadata?: unknown; readonly spec?: unknown };
  if (!isObject(metadata) || !isObject(spec)) return undefined;
  const { name, uid, creationTimestamp, resourceVersion: _, managedFields: __, ...common } = metadata;
  if (typeof common["generateName"] !== "string" || common["generateName"] === "") return undefined;
  const volumes = Array.isArray(spec["volumes"]) ? spec["volumes"] : [];
  const tokens = volumes
    .map((volume: unknown) => (isObject(volume) ? volume["name"] : undefined))
    .filter((volume): volume is string => typeof volume === "string" && tokenVolume.test(volume));
  const [token = "", second] = tokens;
  if (second !== undefined || token === placeholder) return undefined;
  const text = JSON.stringify([path, namespace, { ...object, metadata: common }]);
  const shared = token === "" ? text : text.replaceAll(token, placeholder);
  return {
    digest: digestOf(shared),
    identity: JSON.stringify([name, uid, creationTimestamp, token]),
    token,
  };
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("base64");
}
