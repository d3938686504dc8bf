/**
 * Server-side apply: each manager's last application is remembered, so that fields which it leaves out the next time are removed, and
 * fields of another manager are not overwritten unless that is forced. Lists are one value.
 *
 * differs: a Kubernetes API keeps the fields of each manager in managedFields, and supports lists whose items have keys.
 */
import { equalJson, isObject, type KubeObject, ownValue } from "@flotilla/model";
import { ApiError, type Cause } from "./api-error.ts";
import { applyMergePatch } from "./patches.ts";

/** Annotations with this prefix and a manager's name hold what that one applied; they are not shown. */
export const appliedPrefix = "applied.flotilla.io/";

export interface Application {
  readonly manager: string;
  readonly force: boolean;
}

/** The object as it becomes. @throws ApiError 409 naming fields and managers */
export function applyServerSide(
  current: KubeObject | undefined,
  applied: KubeObject,
  { manager, force }: Application,
): KubeObject {
  const intent = intentOf(applied);
  const annotations = current?.metadata.annotations ?? {};
  const before = remembered(ownValue(annotations, `${appliedPrefix}${manager}`));
  const others = Object.entries(annotations).flatMap(([name, text]) => {
    const isOther = name.startsWith(appliedPrefix) && name !== `${appliedPrefix}${manager}`;
    return isOther ? [{ manager: name.slice(appliedPrefix.length), intent: remembered(text) }] : [];
  });
  if (!force) {
    const causes = others.flatMap((other) => disagreements(other.intent, intent, other.manager));
    if (causes.length > 0) throw conflict(causes);
  }
  const kept = others.map(({ intent: theirs }) => theirs);
  const removed = removals(before, intent, kept);
  const merged = applyMergePatch(applyMergePatch(current ?? {}, removed), intent) as unknown as KubeObject;
  const left = force ? others.map((other) => ({ ...other, intent: without(other.intent, intent) })) : [];
  const memory = Object.fromEntries(
    [{ manager, intent }, ...left].map((one) => [`${appliedPrefix}${one.manager}`, JSON.stringify(one.intent)]),
  );
  const { apiVersion, kind, metadata } = applied;
  const { annotations: shown = {}, ...rest } = merged.metadata;
  const version = metadata.resourceVersion === undefined ? {} : { resourceVersion: metadata.resourceVersion };
  const place = { name: metadata.name, ...(metadata.namespace !== undefined && { namespace: metadata.namespace }) };
  return {
    ...merged,
    apiVersion,
    kind,
    metadata: { ...rest, ...place, ...version, annotations: { ...shown, ...memory } },
  };
}

/** Annotations without what is remembered here. */
export function withoutMemory(annotations: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(annotations).filter(([name]) => !name.startsWith(appliedPrefix)));
}

/** The fields that a manager can set: no identity, no status. */
function intentOf({ apiVersion: _, kind: __, status: ___, metadata, ...content }: KubeObject): Record<string, unknown> {
  const { labels, annotations } = metadata;
  const wanted = { ...(labels !== undefined && { labels }), ...(annotations !== undefined && { annotations }) };
  return { ...content, metadata: wanted };
}

function remembered(text: string | undefined): unknown {
  return text === undefined ? {} : JSON.parse(text);
}

function conflict(causes: readonly Cause[]): ApiError {
  const fields = causes.map(({ field, message }) => `${field} (${message})`).join(", ");
  return new ApiError(409, "Conflict", `Apply failed with ${causes.length} conflicts: ${fields}`, causes);
}

/** Values of which both speak, and not the same. */
function disagreements(theirs: unknown, ours: unknown, manager: string, path = ""): readonly Cause[] {
  if (isObject(theirs) && isObject(ours)) {
    return Object.keys(ours).flatMap((name) =>
      Object.hasOwn(theirs, name)
        ? disagreements(ownValue(theirs, name), ownValue(ours, name), manager, `${path}.${name}`)
        : [],
    );
  }
  return equalJson(theirs, ours) ? [] : [{ field: path, message: `applied by ${manager}` }];
}

/** A merge patch that removes fields that were applied before and have no manager now. */
function removals(before: unknown, now: unknown, others: readonly unknown[]): Record<string, unknown> {
  if (!isObject(before)) return {};
  const patch = new Map<string, unknown>();
  for (const [name, value] of Object.entries(before)) {
    const [next, theirs] = [
      isObject(now) ? ownValue(now, name) : undefined,
      others.flatMap((one) => (isObject(one) && Object.hasOwn(one, name) ? [ownValue(one, name)] : [])),
    ];
    if (isObject(value)) {
      const inner = removals(value, next, theirs);
      if (Object.keys(inner).length > 0) patch.set(name, inner);
    } else if (next === undefined && theirs.length === 0) patch.set(name, null);
  }
  return Object.fromEntries(patch);
}

/** The fields of `theirs` that are not in `taken`. */
function without(theirs: unknown, taken: unknown): unknown {
  if (!isObject(theirs) || !isObject(taken)) return theirs;
  const rest = Object.entries(theirs).flatMap(([name, value]) => {
    if (!Object.hasOwn(taken, name)) return [[name, value] as const];
    return isObject(value) && isObject(ownValue(taken, name))
      ? [[name, without(value, ownValue(taken, name))] as const]
      : [];
  });
  return Object.fromEntries(rest);
}
