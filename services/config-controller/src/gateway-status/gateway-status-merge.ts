/** The content written into the status of a Gateway API object: our fields with times and generation, beside the entries of others. */
import { type Condition, withForeignEntries } from "@flotilla/gateway-api";
import { equalJson, ownValue } from "@flotilla/model";
import type { StatusFields } from "./gateway-queries.ts";

interface StampedCondition extends Condition {
  readonly lastTransitionTime: string;
  readonly observedGeneration?: number;
}

interface Entry {
  readonly controllerName: string;
  readonly conditions: readonly Condition[];
  readonly parentRef?: unknown;
  readonly ancestorRef?: unknown;
}

interface Listener {
  readonly name: string;
  readonly conditions: readonly Condition[];
}

interface StoredStatus {
  readonly conditions?: readonly StampedCondition[];
  readonly listeners?: readonly (Listener & { readonly conditions: readonly StampedCondition[] })[];
  readonly parents?: readonly Entry[];
  readonly ancestors?: readonly Entry[];
}

export interface Stamp {
  /** Kubernetes' generation of the object that the status is about; undefined: not known. */
  readonly generation: number | undefined;
  readonly now: string;
}

/** The API server takes no more entries. */
const maxAncestors = 16;

export function stampedStatus(fields: StatusFields, before: unknown, stamp: Stamp): StatusFields {
  const stored = (before ?? {}) as StoredStatus;
  const { conditions, listeners, parents, ancestors, ...rest } = fields as StatusFields & StoredStatus;
  return {
    ...rest,
    ...(conditions && { conditions: stamped(conditions, stored.conditions, stamp) }),
    ...(listeners && { listeners: listeners.map((one) => stampedListener(one, stored, stamp)) }),
    ...(parents && { parents: entries(parents, stored.parents, stamp) }),
    ...(ancestors && { ancestors: entries(ancestors, stored.ancestors, stamp).slice(0, maxAncestors) }),
  };
}

function stampedListener(listener: Listener, { listeners = [] }: StoredStatus, stamp: Stamp): Listener {
  const stored = listeners.find(({ name }) => name === listener.name);
  return { ...listener, conditions: stamped(listener.conditions, stored?.conditions, stamp) };
}

function entries(ours: readonly Entry[], before: readonly Entry[] = [], stamp: Stamp): readonly unknown[] {
  const own = ours.map((entry) => {
    const stored = before.find(
      (one) =>
        one.controllerName === entry.controllerName &&
        equalJson(one.parentRef, entry.parentRef) &&
        equalJson(one.ancestorRef, entry.ancestorRef),
    );
    return { ...entry, conditions: stamped(entry.conditions, stored?.conditions, stamp) };
  });
  return withForeignEntries(before, own);
}

/** The time of a condition is that of its last change of status. */
function stamped(
  conditions: readonly Condition[],
  before: readonly Partial<StampedCondition>[] = [],
  { generation, now }: Stamp,
): readonly StampedCondition[] {
  return conditions.map(({ type, status, reason, message }) => {
    const stored = before.find((one) => one.type === type && one.status === status);
    const lastTransitionTime = stored?.lastTransitionTime ?? now;
    return {
      ...{ type, status, reason, message, lastTransitionTime },
      ...(generation !== undefined && { observedGeneration: generation }),
    };
  });
}

/** True where the object has the fields as they are to be, whatever else it has. */
export function isWritten(wanted: StatusFields, before: unknown): boolean {
  const stored = (before ?? {}) as StatusFields;
  if (optional.some((name) => ownValue(stored, name) !== undefined && ownValue(wanted, name) === undefined))
    return false;
  return Object.entries(wanted).every(([name, value]) => {
    const there = ownValue(stored, name);
    if (name === "conditions") return hasConditions(value, there);
    return equalJson(value, there) || (isEmptyList(value) && there === undefined);
  });
}

const optional = ["addresses", "attachedListenerSets", "listeners"];

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

function hasConditions(wanted: unknown, stored: unknown): boolean {
  const found = (stored ?? []) as readonly Condition[];
  return (wanted as readonly Condition[]).every((one) => found.some((other) => equalJson(one, other)));
}
