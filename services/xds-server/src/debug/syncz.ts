/** `/debug/syncz`: per proxy and type, what was sent and what was acknowledged; istioctl reads it. */
import { metadataText } from "@flotilla/model";
import { typeUrl } from "@flotilla/proto";
import type { StreamRecord, TypeRecord } from "../serve/stream-record.ts";

export interface SyncStatus {
  readonly cluster_id: string;
  readonly proxy: string;
  readonly proxy_type: string;
  readonly istio_version: string;
  readonly [field: `${string}_sent` | `${string}_acked` | `${string}_error` | `${string}_version`]: string;
}

const fields: Readonly<Record<string, string>> = {
  cluster: typeUrl.cluster,
  listener: typeUrl.listener,
  route: typeUrl.route,
  endpoint: typeUrl.endpoint,
  extensionconfig: typeUrl.extensionConfig,
};

export function syncz(streams: readonly StreamRecord[]): readonly SyncStatus[] {
  return streams.map((stream) => {
    const { proxy } = stream;
    const types = stream.types();
    const perType = Object.entries(fields).flatMap(([field, type]) => statusOf(field, types.get(type)));
    return {
      cluster_id: proxy.clusterId,
      proxy: proxy.id,
      proxy_type: proxy.type,
      istio_version: metadataText(proxy.metadata, "ISTIO_VERSION"),
      ...Object.fromEntries(perType),
    };
  });
}

function statusOf(field: string, record: TypeRecord | undefined): readonly (readonly [string, string])[] {
  if (record === undefined) return [];
  const { sent, acknowledged, rejection } = record;
  return [
    ...(sent === undefined
      ? []
      : ([
          [`${field}_sent`, sent.nonce],
          [`${field}_version`, sent.version],
        ] as const)),
    ...(acknowledged === undefined ? [] : ([[`${field}_acked`, acknowledged.nonce]] as const)),
    ...(rejection === undefined ? [] : ([[`${field}_error`, rejection.message]] as const)),
  ];
}
