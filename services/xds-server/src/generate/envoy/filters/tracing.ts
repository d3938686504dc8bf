/** Tracing of a connection manager: sampling and the tags that name the workload. */
import { compareText } from "@flotilla/model";
import { create } from "@flotilla/proto";
import type { Tracing_Http } from "@flotilla/proto/envoy/config/trace/v3/http_tracer_pb";
import {
  type HttpConnectionManager_Tracing,
  HttpConnectionManager_TracingSchema,
} from "@flotilla/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb";
import { type CustomTag, CustomTagSchema } from "@flotilla/proto/envoy/type/tracing/v3/custom_tag_pb";
import type { Tracing_CustomTag as ProxyTag } from "@flotilla/proto/mesh/v1alpha1/proxy_pb";
import type { Tracing_CustomTag } from "@flotilla/proto/telemetry/v1alpha1/telemetry_pb";

/** Where a tag's value comes from, as Telemetry and ProxyConfig have it. */
export type TagSource = Pick<Tracing_CustomTag | ProxyTag, "type">;

export interface TracingTraits {
  readonly provider: Tracing_Http | undefined;
  /** 0 for Envoy's default. */
  readonly maxTagLength: number;
  /** Tags that name the workload and the policies it tries. */
  readonly istioTags: boolean;
  readonly customTags: Readonly<Record<string, TagSource>> | undefined;
  /** Also for requests that the proxy sends. */
  readonly spawnsUpstreamSpan: boolean;
  /** Percent of requests that are sampled at random. */
  readonly sampling: number;
  /** The decision is part of the request's id, so that every proxy on the way decides alike. */
  readonly samplesByRequestId: boolean;
  /** Requests carry the headers of their trace on. */
  readonly keepsContext: boolean;
  /** Tags name both workloads that the proxy stands between. */
  readonly tagsPeers: boolean;
  readonly canonicalService: string;
  readonly canonicalRevision: string;
  readonly clusterId: string;
  readonly meshId: string;
  readonly namespace: string;
}

export function buildTracing(traits: TracingTraits): HttpConnectionManager_Tracing {
  return create(HttpConnectionManager_TracingSchema, {
    clientSampling: { value: 100 },
    randomSampling: { value: traits.sampling },
    overallSampling: { value: 100 },
    customTags: [
      ...(traits.istioTags ? [...dryRunTags, ...workloadTags(traits), ...(traits.tagsPeers ? peerTags : [])] : []),
      ...Object.entries(traits.customTags ?? {}).map(([tag, from]) => customTag(tag, from)),
    ].sort((a, b) => compareText(a.tag, b.tag)),
    ...(traits.provider && { provider: traits.provider }),
    ...(traits.spawnsUpstreamSpan && { spawnUpstreamSpan: true }),
    ...(!traits.keepsContext && { noContextPropagation: true }),
    ...(traits.maxTagLength > 0 && { maxPathTagLength: traits.maxTagLength }),
  });
}

/** Left by policies that are tried without being enforced. */
const dryRunTags: readonly CustomTag[] = [
  ["istio.authorization.dry_run.allow_policy.name", "istio_dry_run_allow_shadow_effective_policy_id"],
  ["istio.authorization.dry_run.allow_policy.result", "istio_dry_run_allow_shadow_engine_result"],
  ["istio.authorization.dry_run.deny_policy.name", "istio_dry_run_deny_shadow_effective_policy_id"],
  ["istio.authorization.dry_run.deny_policy.result", "istio_dry_run_deny_shadow_engine_result"],
].map(([tag = "", key = ""]) =>
  create(CustomTagSchema, {
    tag,
    type: {
      case: "metadata",
      value: {
        kind: { kind: { case: "request", value: {} } },
        metadataKey: { key: "envoy.filters.http.rbac", path: [{ segment: { case: "key", value: key } }] },
      },
    },
  }),
);

function workloadTags({
  canonicalRevision,
  canonicalService,
  clusterId,
  meshId,
  namespace,
}: TracingTraits): readonly CustomTag[] {
  return [
    literal("istio.canonical_revision", canonicalRevision),
    literal("istio.canonical_service", canonicalService),
    literal("istio.cluster_id", clusterId),
    literal("istio.mesh_id", meshId),
    literal("istio.namespace", namespace),
  ];
}

const peerFields: Readonly<Record<string, string>> = {
  app: "app",
  app_version: "version",
  canonical_revision: "revision",
  canonical_service: "service",
  cluster_id: "cluster",
  instance_name: "name",
  namespace: "namespace",
  workload: "workload",
  workload_type: "type",
};

/** Of what the peers' discovery left in the filter state. */
const peerTags: readonly CustomTag[] = [
  ["source", "downstream_peer_obj"],
  ["destination", "upstream_peer_obj"],
].flatMap(([end = "", state = ""]) =>
  Object.entries(peerFields).map(([tag, field]) =>
    create(CustomTagSchema, {
      tag: `istio.${end}_${tag}`,
      type: { case: "value", value: `%FILTER_STATE(${state}:FIELD:${field})%` },
    }),
  ),
);

function customTag(tag: string, { type }: TagSource): CustomTag {
  switch (type.case) {
    case "formatter":
      return create(CustomTagSchema, { tag, type: { case: "value", value: type.value.value } });
    case "environment":
    case "header": {
      const { name, defaultValue } = type.value;
      const kind = type.case === "header" ? "requestHeader" : "environment";
      return create(CustomTagSchema, { tag, type: { case: kind, value: { name, defaultValue } } });
    }
    default:
      return literal(tag, type.case === "literal" ? type.value.value : "");
  }
}

function literal(tag: string, value: string): CustomTag {
  return create(CustomTagSchema, { tag, type: { case: "literal", value: { value } } });
}
