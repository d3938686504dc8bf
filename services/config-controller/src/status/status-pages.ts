/** The status of objects over HTTP: of one, or of all that are wanted. */

import { type Kind, kinds } from "@flotilla/kinds";
import { type ConfigKey, configKeyText } from "@flotilla/model";
import { meshConfigKey, meshNetworksKey } from "@flotilla/registry/config";
import { type HttpHandler, type HttpReply, TimeSlice } from "@flotilla/runtime";
import { nearestKind } from "@flotilla/validation";
import { ConfigError } from "../errors.ts";
import { type ObjectStatus, type ObjectStatuses, statusKey } from "./object-status.ts";

const sliceMs = 5;

/** `?object=KIND/NAME.NAMESPACE`: one, 404 when there is none. `?namespace=`: of it; `?open=true`: those that are not live everywhere. */
export function objectsPage(statuses: ObjectStatuses, generation: () => number): HttpHandler {
  return async ({ query }) => {
    const name = query.get("object");
    if (name !== null) return oneObject(statuses, name);
    const namespace = query.get("namespace");
    const isWanted = (object: string) => namespace === null || statusKey(object)?.namespace === namespace;
    for (const key of await gather(statuses.keys(isWanted))) await statuses.prepare(key);
    const all = await gather(statuses.all(isWanted));
    const shown = query.get("open") === "true" ? all.filter((status) => !isSettled(status)) : all;
    return { json: { generation: generation(), total: all.length, objects: shown } };
  };
}

/** Thousands of objects take a second: others have their turn meanwhile. */
export async function gather<T>(items: Iterable<T>): Promise<readonly T[]> {
  const all: T[] = [];
  const timeSlice = new TimeSlice(sliceMs);
  for (const item of items) {
    all.push(item);
    if (timeSlice.isDue) await timeSlice.yield();
  }
  return all;
}

async function oneObject(statuses: ObjectStatuses, name: string): Promise<HttpReply> {
  try {
    const key = parseObjectName(name);
    await statuses.prepare(key);
    const status = statuses.of(key);
    if (status !== undefined) return { json: status };
    return { status: 404, json: { error: `there is no ${configKeyText(key)}` } };
  } catch (error) {
    if (error instanceof ConfigError) return { status: 400, json: { error: error.reason } };
    throw error;
  }
}

/** Accepted, without a doubt, and in effect on every proxy that it concerns. */
export function isSettled({ state, warnings, inForce }: ObjectStatus): boolean {
  if (state === "refused" || warnings.length > 0 || inForce === undefined) return false;
  const { live, concerned, refusals } = inForce.distribution;
  return refusals.length === 0 && live === concerned;
}

const meshDocuments: readonly ConfigKey[] = [meshConfigKey, meshNetworksKey];

/**
 * Objects as people name them: `VirtualService/reviews.shop`, `vs/reviews.shop`, `Namespace/shop`, `MeshConfig`, or
 * `Kind/namespace/name`. Names may have dots, namespaces have none. @throws ConfigError CONFIG_BAD_NAME
 */
export function parseObjectName(text: string): ConfigKey {
  // Objects without a namespace are written `Namespace//shop` where kind, namespace and name stand apart.
  const [kindText = "", first = "", second, ...more] = text.replace("//", "/").split("/");
  const document = meshDocuments.find((key) => key.kind.toLowerCase() === kindText.toLowerCase());
  if (document !== undefined) return document;
  const kind = kinds.find((row) => isCalled(row, kindText.toLowerCase()));
  if (kind === undefined) throw badName(unknownText(kindText, text));
  if (first === "" || more.length > 0) throw badName(`"${text}" is not KIND/NAME.NAMESPACE`);
  if (second !== undefined) return { kind: kind.name, namespace: first, name: second };
  if (!kind.namespaced) return { kind: kind.name, namespace: "", name: first };
  const dot = first.lastIndexOf(".");
  if (dot <= 0) throw badName(`"${text}" names no namespace: ${kind.name}/${first}.NAMESPACE`);
  return { kind: kind.name, namespace: first.slice(dot + 1), name: first.slice(0, dot) };
}

function unknownText(kind: string, text: string): string {
  if (kind === text) return `"${text}" is not KIND/NAME.NAMESPACE, such as VirtualService/reviews.shop`;
  const nearest = nearestKind(kind);
  return `"${kind}" in "${text}" is no kind of configuration${nearest === undefined ? "" : `: is ${nearest} meant?`}`;
}

function badName(reason: string): ConfigError {
  return new ConfigError("CONFIG_BAD_NAME", reason);
}

/** Of Gateways, Istio's comes first; `KubernetesGateway` is the Gateway API's. */
function isCalled({ name, kind, plural, shortNames }: Kind, text: string): boolean {
  return [name, kind, plural, ...shortNames].some((one) => one.toLowerCase() === text);
}
