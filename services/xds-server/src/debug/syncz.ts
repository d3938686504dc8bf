/** `/debug/syncz`: per proxy and type, what was sent and what was acknowledged. */
import { ownValue } from "@flotilla/model";
import { typeUrl } from "@flotilla/proto";
import type { ProxyStatus, TypeStatus } from "./proxy-status.ts";

export interface SyncStatus {
  readonly cluster_id?: string;
  readonly proxy: string;
  readonly proxy_type: string;
  readonly istio_version?: string;
  readonly resources: Readonly<Record<string, ResourceStatus>>;
  readonly [field: `${string}_sent` | `${string}_acked`]: string;
}

interface ResourceStatus {
  readonly sent?: string;
  readonly acked?: string;
  readonly sentTime?: string;
  readonly lastError?: string;
  readonly version?: string;
  /** Places in the fleet's sequence of changes. */
  readonly sentPosition?: number;
  readonly ackedPosition?: number;
  readonly cause?: string;
}

/** Types that have fields of their own, from before `resources` was there. */
const fields: Readonly<Record<string, string>> = {
  cluster: typeUrl.cluster,
  listener: typeUrl.listener,
  route: typeUrl.route,
  endpoint: typeUrl.endpoint,
  extensionconfig: typeUrl.extensionConfig,
};

export function syncz(proxies: readonly ProxyStatus[]): readonly SyncStatus[] {
  return proxies.map(({ proxy, type, clusterId, istioVersion, types }) => {
    const noncesOf = ([field, url]: readonly [string, string]) => {
      const { sent, acked } = ownValue(types, url) ?? {};
      return [
        ...(sent === undefined ? [] : ([[`${field}_sent`, sent]] as const)),
        ...(acked === undefined ? [] : ([[`${field}_acked`, acked]] as const)),
      ];
    };
    return {
      ...(clusterId !== "" && { cluster_id: clusterId }),
      proxy,
      proxy_type: type,
      ...(istioVersion !== "" && { istio_version: istioVersion }),
      ...Object.fromEntries(Object.entries(fields).flatMap(noncesOf)),
      resources: Object.fromEntries(Object.entries(types).map(([url, status]) => [url, resourceStatus(status)])),
    };
  });
}

function resourceStatus({ sentAtMs, error, ...rest }: TypeStatus): ResourceStatus {
  return {
    ...rest,
    ...(sentAtMs !== undefined && { sentTime: new Date(sentAtMs).toISOString() }),
    ...(error !== undefined && { lastError: error }),
  };
}
