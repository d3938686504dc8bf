/** What the control plane's pure core sends to a proxy, in the order in which a client learns the names. */
import { type NodeInfo, parseNode } from "@flotilla/model";
import { bytesToJson, type JsonObject, typeUrl } from "@flotilla/proto";
import { nameSet } from "@flotilla/xds";
import { endpointNames, extensionNames, routeNames, secretNames } from "@flotilla/xds/client";
import type { Core } from "@flotilla/xds-server/core";

/** Resources by short type (`cds`) and name, as canonical JSON. A type that is not answered has no entry. */
export type Capture = ReadonlyMap<string, ReadonlyMap<string, JsonObject>>;

/** @throws NodeError */
export function captureFromCore(core: Core, info: NodeInfo): Capture {
  const subject = core.subjectOf(parseNode(info));
  const captured = new Map<string, ReadonlyMap<string, JsonObject>>();
  const ask = (short: string, type: string, names?: readonly string[]) => {
    if (names !== undefined && names.length === 0) return new Map<string, JsonObject>();
    const set = core.resources(subject, type, names && nameSet(names));
    const found = new Map(
      [...(set?.byName ?? [])].map(([name, { bytes }]) => [name, bytesToJson(type, bytes) as JsonObject]),
    );
    if (set !== undefined) captured.set(short, found);
    return found;
  };
  const clusters = [...ask("cds", typeUrl.cluster).values()];
  ask("eds", typeUrl.endpoint, endpointNames(clusters));
  const listeners = [...ask("lds", typeUrl.listener).values()];
  ask("nds", typeUrl.nameTable);
  const everything = [...clusters, ...listeners];
  ask("rds", typeUrl.route, routeNames(everything));
  ask("ecds", typeUrl.extensionConfig, extensionNames(everything));
  ask("sds", typeUrl.secret, secretNames(everything));
  return captured;
}
