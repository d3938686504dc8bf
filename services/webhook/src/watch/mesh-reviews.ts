/**
 * Analyzes a written object by the checks that look at configuration, which the webhook follows on the bus anyway, and at services. It
 * yields warnings only, in bounded time, and none before the whole configuration was received or in meshes that are too large.
 */
import {
  configurationAnalyzers,
  isSuppressedByObject,
  type MeshObject,
  MeshReview,
  meshObject,
  meshSettings,
  PublishedServices,
} from "@flotilla/analysis";
import { apiVersionOf, kindNamed } from "@flotilla/kinds";
import type { Config, ConfigChange, JsonObject, KubeObject, ServiceChange } from "@flotilla/model";
import type { Logger } from "@flotilla/runtime";

const services: ReadonlySet<string> = new Set(["Service"]);
const limits = { maxCharacters: 100_000, budgetMs: 20 };
/** The API server shows some thousand characters of warnings at most, of each the first 256. */
const maxWarnings = 10;

export class MeshReviews {
  readonly #maxObjects: number;
  readonly #log: Logger;
  #review: MeshReview | undefined;
  readonly #services = new PublishedServices();
  #hasBegun = false;
  #knowsServices = false;

  /** @param maxObjects none are kept with 0 */
  constructor(maxObjects: number, log: Logger, nowMs: () => number = () => performance.now()) {
    this.#maxObjects = maxObjects;
    this.#log = log;
    // None of these analyzers reads a certificate.
    const tools = { nowMs, validityOf: () => ({ notBeforeMs: 0, notAfterMs: 0 }) };
    this.#review = maxObjects === 0 ? undefined : new MeshReview(configurationAnalyzers("Service"), tools);
  }

  /** All published objects have been noted: others do not exist. */
  begin(): void {
    this.#hasBegun = true;
  }

  /** All services that are published have been noted. Without any, a mesh has none or no publisher of them: hosts are not looked up then. */
  beginServices(): void {
    this.#knowsServices = true;
  }

  noteService(change: ServiceChange): void {
    const review = this.#review;
    if (review === undefined) return;
    for (const changed of this.#services.note(change)) {
      if ("object" in changed) this.#put(review, changed.object);
      else review.remove(changed.removed);
    }
  }

  note(change: ConfigChange): void {
    const review = this.#review;
    if (review?.concerns(change.key.kind) !== true) return;
    const object = change.op === "put" ? objectOf(change.value) : undefined;
    if (object === undefined) review.remove(change.key);
    else this.#put(review, object);
  }

  #put(review: MeshReview, object: MeshObject): void {
    review.put(object);
    if (review.size <= this.#maxObjects) return;
    this.#services.clear();
    this.#review = undefined;
    this.#log.warn("the mesh is too large for warnings of analysis", { objects: review.size });
  }

  /** `FIELD: what is wrong [CODE]`, of errors and warnings that the object does not suppress. */
  warningsOf(whole: KubeObject): readonly string[] {
    const object = this.#hasBegun ? meshObject(whole) : undefined;
    if (object === undefined || this.#review === undefined) return [];
    try {
      return this.#review
        .review(object, this.#knowsServices && this.#services.size > 0 ? limits : { ...limits, unknown: services })
        .filter(({ level, code }) => level !== "Info" && !isSuppressedByObject(code, object))
        .slice(0, maxWarnings)
        .map(({ field, message, code }) => `${field === "" ? "" : `${field}: `}${message} [${code}]`);
    } catch (error) {
      this.#log.error("analysis of an object failed", { kind: object.key.kind, name: object.key.name, error });
      return [];
    }
  }
}

function objectOf(config: Config): MeshObject | undefined {
  const { key, labels, annotations, spec } = config;
  if (key.kind === "MeshConfig" || key.kind === "MeshNetworks")
    return { ...meshSettings({ kind: key.kind, document: spec as JsonObject }, key.namespace), key };
  const kind = kindNamed(key.kind);
  if (kind === undefined) return undefined;
  const metadata = { name: key.name, ...(key.namespace !== "" && { namespace: key.namespace }), labels, annotations };
  const content = key.kind === "ConfigMap" ? (spec as JsonObject) : { spec };
  return meshObject({ apiVersion: apiVersionOf(kind), kind: kind.kind, metadata, ...content });
}
