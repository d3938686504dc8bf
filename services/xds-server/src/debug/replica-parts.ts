/**
 * A replica's report of its proxies, in parts of which only the changed ones are written: each connection once, and the resources of
 * proxies by groups of equal ones, so that a push to a thousand equal ones is a change of one part.
 */
import { listOf, number, objectOf, recordOf, text } from "@flotilla/model";
import type { StreamRecord } from "../serve/stream-record.ts";
import {
  type ProxyConnection,
  type ProxyStatus,
  proxyConnection,
  type TypeStatuses,
  typeStatuses,
} from "./proxy-status.ts";

/** Proxies to which the same happened. */
interface Group {
  readonly types: TypeStatuses;
  /** Ids of connections. */
  readonly members: readonly string[];
}

type Part = ProxyConnection | Group;

export class ReplicaParts {
  /** The parts of the last time are given again as they are. */
  #groups: ReadonlyMap<TypeStatuses, { readonly name: string; readonly group: Group }> = new Map();
  #named = 0;

  /** By name; the identical part while nothing of it changes. */
  of(streams: readonly StreamRecord[]): ReadonlyMap<string, Part> {
    const members = new Map<TypeStatuses, string[]>();
    for (const stream of streams) {
      const types = typeStatuses(stream);
      const known = members.get(types);
      if (known === undefined) members.set(types, [stream.id]);
      else known.push(stream.id);
    }
    this.#groups = new Map([...members].map(([types, ids]) => [types, this.#groupOf(types, ids)]));
    const parts = new Map<string, Part>(streams.map((stream) => [`connection ${stream.id}`, proxyConnection(stream)]));
    for (const { name, group } of this.#groups.values()) parts.set(name, group);
    return parts;
  }

  #groupOf(types: TypeStatuses, members: readonly string[]) {
    const known = this.#groups.get(types);
    if (known === undefined) return { name: `group ${++this.#named}`, group: { types, members } };
    return sameTexts(known.group.members, members) ? known : { name: known.name, group: { types, members } };
  }
}

const typeShape = objectOf(
  {},
  {
    ...{ sent: text, acked: text, version: text, cause: text, error: text },
    ...{ sentAtMs: number, sentPosition: number, ackedPosition: number },
  },
);
const groupShape = objectOf({ types: recordOf(typeShape), members: listOf(text) });
const connectionShape = objectOf({
  ...{ proxy: text, type: text, namespace: text, clusterId: text, istioVersion: text, connectionId: text, peer: text },
  connectedAtMs: number,
});

/** The proxies that a replica reported. Parts that are none are left out: their replica writes them anew, or they vanish. */
export function proxiesOf(parts: ReadonlyMap<string, unknown>): readonly ProxyStatus[] {
  const groups = [...parts.values()].filter((part): part is Group => groupShape(part) === undefined);
  return groups.flatMap(({ types, members }) =>
    members.flatMap((id) => {
      const connection = parts.get(`connection ${id}`);
      return connectionShape(connection) === undefined ? [{ ...(connection as ProxyConnection), types }] : [];
    }),
  );
}

function sameTexts(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, index) => text === b[index]);
}
