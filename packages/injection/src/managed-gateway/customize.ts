/** Users' changes of the deployed objects, in a ConfigMap with a partial object for each kind. */
import { equalJson, ownValue } from "@flotilla/model";
import { parse } from "yaml";
import { InjectionError } from "../errors.ts";
import type { Json, Texts } from "../pod.ts";
import { mergeStrategically, serviceKeys } from "../strategic-merge.ts";

/** Key of the ConfigMap → kind that it changes. */
const kinds: ReadonlyMap<string, string> = new Map([
  ["deployment", "Deployment"],
  ["service", "Service"],
  ["serviceAccount", "ServiceAccount"],
  ["horizontalPodAutoscaler", "HorizontalPodAutoscaler"],
  ["podDisruptionBudget", "PodDisruptionBudget"],
]);
/** Deployed only where users configure them. */
const onlyWhenAsked = ["HorizontalPodAutoscaler", "PodDisruptionBudget"];
/** A change of these would be another object, or one that is never removed. */
const fixedMetadata = [
  ...["name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp"],
  ...["deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences", "finalizers"],
];

/**
 * Applied in order: those of the class, then those of the Gateway. Undefined: the object is not deployed.
 * @throws InjectionError INJECT_BAD_GATEWAY for a key that names no kind, text that is no object, metadata that must stay
 */
export function customize(object: Json, overlays: readonly Texts[]): Json | undefined {
  for (const overlay of overlays) refuseUnknownKeys(overlay);
  const kind = String(object["kind"]);
  const key = [...kinds].find(([, one]) => one === kind)?.[0];
  if (key === undefined) throw bad(`unknown overlay kind ${JSON.stringify(kind)}`);
  const changes = overlays.flatMap((overlay) => ownValue(overlay, key) ?? []);
  if (changes.length === 0) return onlyWhenAsked.includes(kind) ? undefined : object;
  const keys = kind === "Service" ? serviceKeys : undefined;
  const changed = changes.reduce<Json>((one, text) => mergeStrategically(one, parseOverlay(key, text), keys), object);
  const [before, after] = [metadataOf(object), metadataOf(changed)];
  const moved = fixedMetadata.find(
    (field) => !equalJson(ownValue(before, field) ?? null, ownValue(after, field) ?? null),
  );
  if (moved !== undefined || after["managedFields"] !== undefined)
    throw bad(`${key}: metadata.${moved ?? "managedFields"} must not be changed`);
  return changed;
}

/** Why a ConfigMap of changes can be applied to no Gateway; undefined where nothing speaks against it. */
export function overlayProblem(overlay: Texts): string | undefined {
  try {
    refuseUnknownKeys(overlay);
    for (const [key, text] of Object.entries(overlay)) {
      const metadata = metadataOf(parseOverlay(key, text));
      const moved = [...fixedMetadata, "managedFields"].find((field) => ownValue(metadata, field) !== undefined);
      if (moved !== undefined) return `${key}: metadata.${moved} must not be changed`;
    }
    return undefined;
  } catch (error) {
    if (error instanceof InjectionError) return error.reason;
    throw error;
  }
}

function refuseUnknownKeys(overlay: Texts): void {
  const unknown = Object.keys(overlay).find((key) => !kinds.has(key));
  if (unknown !== undefined)
    throw bad(`unsupported overlay ${JSON.stringify(unknown)} (supported: ${[...kinds.keys()].sort().join(", ")})`);
}

function metadataOf(object: Json): Json {
  return (object["metadata"] ?? {}) as Json;
}

function parseOverlay(key: string, text: string): Json {
  let value: unknown;
  try {
    value = parse(text);
  } catch (cause) {
    throw bad(`${key} is no YAML: ${(cause as Error).message.split("\n", 1)[0]}`, cause);
  }
  if (value === null) return {};
  if (typeof value === "object" && !Array.isArray(value)) return value as Json;
  throw bad(`${key} is no object`);
}

function bad(reason: string, cause?: unknown): InjectionError {
  return new InjectionError("INJECT_BAD_GATEWAY", reason, cause === undefined ? undefined : { cause });
}
