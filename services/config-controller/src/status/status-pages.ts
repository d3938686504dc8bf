/** The status of objects over HTTP: of one, or of all that are wanted. */

import { configKeyText } from "@flotilla/model";
import { type HttpHandler, TimeSlice } from "@flotilla/runtime";
import { parseObjectName } from "./object-name.ts";
import type { ObjectStatus, ObjectStatuses } from "./object-status.ts";

const sliceMs = 5;

/** `?object=KIND/NAME.NAMESPACE`: one, 404 when there is none. `?namespace=`: of it; `?open=true`: those that are not live everywhere. */
export function objectsPage(statuses: ObjectStatuses, generation: () => number): HttpHandler {
  return async ({ query }) => {
    const name = query.get("object");
    if (name !== null) return oneObject(statuses, name);
    const namespace = query.get("namespace");
    const isWanted = (object: string) => namespace === null || object.split("/")[1] === namespace;
    const all = await gather(statuses.all(isWanted));
    const told = query.get("open") === "true" ? all.filter((status) => !isSettled(status)) : all;
    return { json: { generation: generation(), total: all.length, objects: told } };
  };
}

/** Thousands of objects take a second: others have their turn meanwhile. */
async function gather<T>(items: Iterable<T>): Promise<readonly T[]> {
  const all: T[] = [];
  const timeSlice = new TimeSlice(sliceMs);
  for (const item of items) {
    all.push(item);
    if (timeSlice.isDue) await timeSlice.yield();
  }
  return all;
}

function oneObject(statuses: ObjectStatuses, name: string): ReturnType<HttpHandler> {
  try {
    const key = parseObjectName(name);
    const status = statuses.of(key);
    if (status !== undefined) return { json: status };
    return { status: 404, json: { error: `there is no ${configKeyText(key)}` } };
  } catch (error) {
    if (error instanceof RangeError) return { status: 400, json: { error: error.message } };
    throw error;
  }
}

/** Accepted, without a doubt, and in effect on every proxy that it concerns. */
export function isSettled({ state, warnings, inForce }: ObjectStatus): boolean {
  if (state === "refused" || warnings.length > 0 || inForce === undefined) return false;
  const { live, concerned, refusals } = inForce.distribution;
  return refusals.length === 0 && live === concerned;
}
