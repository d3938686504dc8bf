/** A replica's status of one connected proxy, as plain JSON: replicas exchange it. */
import { appliedText, metadataText } from "@flotilla/model";
import type { StreamRecord, TypeRecord } from "../serve/stream-record.ts";

export interface ProxyStatus extends ProxyConnection {
  readonly types: TypeStatuses;
}

/** The part that stays as it is. */
export interface ProxyConnection {
  /** `name.namespace`. */
  readonly proxy: string;
  readonly type: string;
  readonly namespace: string;
  readonly clusterId: string;
  readonly istioVersion: string;
  readonly connectionId: string;
  readonly peer: string;
  readonly connectedAtMs: number;
}

/** By type URL. */
export type TypeStatuses = Readonly<Record<string, TypeStatus>>;

export interface TypeStatus {
  /** Nonces. */
  readonly sent?: string;
  readonly acked?: string;
  readonly sentAtMs?: number;
  /** Of what was sent last: equal on all replicas for equal contents. */
  readonly version?: string;
  /** In the fleet's sequence of changes: what the last message sent, and the last one acknowledged, reflect. */
  readonly sentPosition?: number;
  readonly ackedPosition?: number;
  /** The changes that the last message was sent for; absent when the proxy had asked for it. */
  readonly cause?: string;
  /** Envoy's words. */
  readonly error?: string;
}

const current = new WeakMap<StreamRecord, ProxyStatus>();

/** Returns the identical object while the stream is unchanged. */
export function proxyStatus(stream: StreamRecord): ProxyStatus {
  const [types, known] = [typeStatuses(stream), current.get(stream)];
  if (known?.types === types) return known;
  const status = { ...proxyConnection(stream), types };
  current.set(stream, status);
  return status;
}

const connections = new WeakMap<StreamRecord, ProxyConnection>();

/** The identical object for a stream. */
export function proxyConnection(stream: StreamRecord): ProxyConnection {
  return memo(connections, stream, () => {
    const { id, proxy, peer, connectedAtMs } = stream;
    return {
      proxy: proxy.id,
      type: proxy.type,
      namespace: proxy.namespace,
      clusterId: proxy.clusterId,
      istioVersion: metadataText(proxy.metadata, "ISTIO_VERSION"),
      connectionId: id,
      peer,
      connectedAtMs,
    };
  });
}

const statuses = new WeakMap<ReadonlyMap<string, TypeRecord>, TypeStatuses>();
const ofRecords = new WeakMap<TypeRecord, TypeStatus>();

/** The identical object for streams to which the same happened. */
export function typeStatuses(stream: StreamRecord): TypeStatuses {
  const types = stream.types();
  return memo(statuses, types, () =>
    Object.fromEntries([...types].map(([url, record]) => [url, memo(ofRecords, record, () => statusOf(record))])),
  );
}

function memo<Key extends object, Value>(known: WeakMap<Key, Value>, key: Key, make: () => Value): Value {
  const value = known.get(key) ?? make();
  known.set(key, value);
  return value;
}

function statusOf({ sent, acknowledged, rejection, isDue }: TypeRecord): TypeStatus {
  if (sent === undefined && acknowledged !== undefined && !isDue) return hadAlready(acknowledged);
  return {
    ...(sent && { sent: sent.nonce, sentAtMs: sent.atMs, version: sent.version, sentPosition: sent.position }),
    ...(sent?.applied && { cause: appliedText(sent.applied) }),
    ...(acknowledged && { acked: acknowledged.nonce, ackedPosition: acknowledged.position }),
    ...(rejection && { error: rejection.message }),
  };
}

/** A proxy that connected again and had everything is synced, though nothing was sent: its version stands for the nonces. */
function hadAlready({ version, atMs, position }: NonNullable<TypeRecord["acknowledged"]>): TypeStatus {
  return { sent: version, acked: version, version, sentAtMs: atMs, sentPosition: position, ackedPosition: position };
}
