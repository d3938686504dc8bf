/** Records of streams for tests that read them: what proxies asked for, were sent and answered, without a server. */
import type { Proxy } from "@flotilla/model";
import { nameSet } from "@flotilla/xds";
import type { Receipt, StreamRecord, TypeRecord } from "../serve/stream-record.ts";
import { aSidecar } from "./mesh.ts";

/** A stream of a proxy; idle unless it has types. */
export function aStream(
  id: string,
  types: Readonly<Record<string, TypeRecord>> = {},
  more: Partial<Omit<StreamRecord, "types">> & { readonly proxy?: Proxy } = {},
): StreamRecord {
  const byType = new Map(Object.entries(types));
  return {
    id,
    proxy: aSidecar("shop"),
    identities: [],
    peer: "10.0.0.1:40000",
    form: "delta",
    connectedAtMs: 1_000,
    isIdle: () => byType.size === 0,
    types: () => byType,
    acknowledgedVersion: (typeUrl) => byType.get(typeUrl)?.acknowledged?.version,
    answeredPosition: () => 0,
    watched: () => [],
    ...more,
  };
}

/** A type that is subscribed to as a whole and has been sent nothing, unless stated otherwise. */
export function aTypeRecord(more: Partial<TypeRecord> = {}): TypeRecord {
  return {
    subscribed: "*",
    names: () => nameSet([]),
    sent: undefined,
    acknowledged: undefined,
    rejection: undefined,
    isDue: false,
    ...more,
  };
}

export function aReceipt(nonce: string, position: number, more: Partial<Receipt> = {}): Receipt {
  return { nonce, version: `v${position}`, atMs: 2_000, position, applied: undefined, resources: 1, bytes: 1, ...more };
}
