/** Differences between two answers of config-controller's `/debug/recent`, as events. Pure. */
import type { ConsoleEvents, GenerationEvent } from "@flotilla/console/contract";

/** As `/debug/recent` of config-controller answers it. */
export interface Recent {
  readonly generation: number;
  /** The latest first. */
  readonly generations: readonly GenerationEvent[];
  readonly rejections: readonly RecentRejection[];
  readonly rejectionCount: number;
  readonly fleet: {
    readonly total: number;
    readonly synced: number;
    readonly sending: number;
    readonly rejected: number;
  };
  readonly arrivals: readonly Arrival[];
}

interface RecentRejection {
  readonly object?: string;
  readonly type: string;
  readonly message: string;
  readonly proxyCount: number;
}

interface Arrival {
  readonly object: string;
  readonly live: number;
  readonly concerned: number;
  readonly rejected: number;
}

/** An event with its data. */
export type ConsoleEvent = {
  readonly [Type in keyof ConsoleEvents]: { readonly type: Type; readonly data: ConsoleEvents[Type] };
}[keyof ConsoleEvents];

/** Without `before`, nothing counts as new. */
export function eventsBetween(before: Recent | undefined, now: Recent): readonly ConsoleEvent[] {
  if (before === undefined) return [];
  return [
    ...generationEvents(before, now),
    ...rejectionEvents(before, now),
    ...fleetEvents(before, now),
    ...objectEvents(before, now),
  ];
}

function generationEvents(before: Recent, now: Recent): readonly ConsoleEvent[] {
  // The sequence began anew: all that is shown is of another one.
  if (now.generation < before.generation) return [{ type: "resync", data: {} }];
  return freshGenerations(before, now).map((data) => ({ type: "generation", data }));
}

/** The oldest first. */
function freshGenerations(before: Recent, now: Recent): readonly GenerationEvent[] {
  const last = before.generations[0]?.generation ?? before.generation;
  return now.generations.filter(({ generation }) => generation > last).reverse();
}

const nameOf = ({ object, type, message }: RecentRejection) => `${type} ${object ?? message}`;

function rejectionEvents(before: Recent, now: Recent): readonly ConsoleEvent[] {
  const known = new Map(before.rejections.map((one) => [nameOf(one), one]));
  const present = new Set(now.rejections.map(nameOf));
  const isOther = (one: RecentRejection) => {
    const old = known.get(nameOf(one));
    return old === undefined || old.message !== one.message || old.proxyCount !== one.proxyCount;
  };
  const added = now.rejections.filter(isOther).map(({ object, type, message, proxyCount }) => ({
    ...{ type, message, proxyCount },
    ...(object !== undefined && { object }),
  }));
  const cleared = before.rejections.filter((one) => !present.has(nameOf(one))).flatMap(({ object }) => object ?? []);
  if (added.length === 0 && cleared.length === 0 && before.rejectionCount === now.rejectionCount) return [];
  return [{ type: "rejections", data: { count: now.rejectionCount, added, cleared: [...new Set(cleared)] } }];
}

function fleetEvents(before: Recent, now: Recent): readonly ConsoleEvent[] {
  const [a, b] = [before.fleet, now.fleet];
  if (a.total === b.total && a.synced === b.synced && a.sending === b.sending && a.rejected === b.rejected) return [];
  const { total, ...byState } = b;
  return [{ type: "fleet", data: { total, byState } }];
}

const isOpen = ({ live, concerned, rejected }: Arrival) => rejected > 0 || live < concerned;

function objectEvents(before: Recent, now: Recent): readonly ConsoleEvent[] {
  const known = new Map(before.arrivals.map((one) => [one.object, one]));
  const open = now.arrivals
    .filter((one) => isOpen(one) && !isSame(known.get(one.object), one))
    .map(({ object, live, concerned, rejected }) => ({
      ...{ object, live, concerned, state: rejected > 0 ? "rejected" : "arriving" },
    }));
  const isSettled = new Set(now.arrivals.filter((one) => !isOpen(one)).map(({ object }) => object));
  // One may arrive everywhere between two looks.
  const changed = freshGenerations(before, now).flatMap(({ objects }) => objects.map(({ object }) => object));
  const wasOpen = before.arrivals.filter(isOpen).map(({ object }) => object);
  const settled = [...new Set([...wasOpen, ...changed])].filter((object) => isSettled.has(object));
  return open.length === 0 && settled.length === 0 ? [] : [{ type: "objects", data: { open, settled } }];
}

function isSame(a: Arrival | undefined, b: Arrival): boolean {
  return a !== undefined && a.live === b.live && a.concerned === b.concerned && a.rejected === b.rejected;
}

/** The part of an event that a caller of one namespace may see; undefined for events of others. */
export function within(namespace: string | undefined, event: ConsoleEvent): ConsoleEvent | undefined {
  if (namespace === undefined) return event;
  const isOwn = ({ object }: { readonly object?: string }) => object?.split("/")[1] === namespace;
  switch (event.type) {
    case "generation":
      return { ...event, data: { ...event.data, by: "", objects: event.data.objects.filter(isOwn) } };
    case "rejections": {
      const added = event.data.added.filter(isOwn);
      const cleared = event.data.cleared.filter((object) => isOwn({ object }));
      if (added.length === 0 && cleared.length === 0) return undefined;
      return { ...event, data: { count: added.length, added, cleared } };
    }
    case "objects": {
      const open = event.data.open.filter(isOwn);
      const settled = event.data.settled.filter((object) => isOwn({ object }));
      return open.length === 0 && settled.length === 0 ? undefined : { ...event, data: { open, settled } };
    }
    case "fleet":
      return undefined;
    default:
      return event;
  }
}
