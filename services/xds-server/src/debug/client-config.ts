/** The sync state of a proxy as Envoy's client status service has it: what `istioctl proxy-status` reads. */
import { ownValue } from "@flotilla/model";
import { create, encode, typeUrlOf } from "@flotilla/proto";
import { type ClientConfig, ClientConfigSchema, ConfigStatus } from "@flotilla/proto/envoy/service/status/v3/csds_pb";
import type { Resource } from "@flotilla/xds";
import type { ProxyStatus, TypeStatus } from "./proxy-status.ts";

function clientConfig({ proxy, clusterId, namespace, istioVersion, types }: ProxyStatus): ClientConfig {
  const known = { CLUSTER_ID: clusterId, NAMESPACE: namespace, ISTIO_VERSION: istioVersion };
  const metadata = Object.fromEntries(Object.entries(known).filter(([, text]) => text !== ""));
  const genericXdsConfigs = Object.keys(types)
    .sort()
    .map((typeUrl) => {
      const status = ownValue(types, typeUrl) ?? {};
      const lastUpdated = timestamp(status.sentAtMs);
      return {
        typeUrl,
        configStatus: configStatus(status),
        ...(lastUpdated && { lastUpdated }),
        ...(status.error !== undefined && {
          errorState: { details: status.error, ...(lastUpdated && { lastUpdateAttempt: lastUpdated }) },
        }),
      };
    });
  return create(ClientConfigSchema, { node: { id: proxy, metadata }, genericXdsConfigs });
}

export function clientConfigResource(status: ProxyStatus): Resource {
  const bytes = encode(ClientConfigSchema, clientConfig(status));
  return { name: status.proxy, typeUrl: typeUrlOf(ClientConfigSchema.typeName), version: "", bytes };
}

function configStatus({ sent, acked, error }: TypeStatus): ConfigStatus {
  if (error !== undefined) return ConfigStatus.ERROR;
  if (sent === undefined) return ConfigStatus.NOT_SENT;
  return sent === acked ? ConfigStatus.SYNCED : ConfigStatus.STALE;
}

function timestamp(ms: number | undefined): { readonly seconds: bigint; readonly nanos: number } | undefined {
  return ms === undefined ? undefined : { seconds: BigInt(Math.floor(ms / 1000)), nanos: (ms % 1000) * 1_000_000 };
}
