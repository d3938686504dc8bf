/** Type URLs of the resources that a control plane serves and reads, and google.protobuf.Any through the registry. */
import { create, type DescMessage, type Message, type MessageInitShape, type MessageShape } from "@bufbuild/protobuf";
import { type Any, AnySchema } from "@bufbuild/protobuf/wkt";
import { decode, encode } from "./encode.ts";
import { registry } from "./registry.ts";

const prefix = "type.googleapis.com/";

/** Type URLs of what a control plane serves and reads. */
export const typeUrl = {
  cluster: "type.googleapis.com/envoy.config.cluster.v3.Cluster",
  listener: "type.googleapis.com/envoy.config.listener.v3.Listener",
  endpoint: "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",
  route: "type.googleapis.com/envoy.config.route.v3.RouteConfiguration",
  scopedRoute: "type.googleapis.com/envoy.config.route.v3.ScopedRouteConfiguration",
  secret: "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret",
  extensionConfig: "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig",
  nameTable: "type.googleapis.com/istio.networking.nds.v1.NameTable",
  proxyConfig: "type.googleapis.com/istio.mesh.v1alpha1.ProxyConfig",
  address: "type.googleapis.com/istio.workload.Address",
  workload: "type.googleapis.com/istio.workload.Workload",
  authorization: "type.googleapis.com/istio.security.Authorization",
  healthInformation: "type.googleapis.com/istio.v1.HealthInformation",
  /** Of MCP, the bare message; objects have `group/version/Kind`. */
  meshConfig: "core/v1alpha1/MeshConfig",
  bootstrap: "type.googleapis.com/envoy.config.bootstrap.v3.Bootstrap",
} as const;

/** Type URL of requests to the debug interface: this, or this followed by `/` and a name. */
export const debugTypeUrl = "istio.io/debug";

/** Each request is a question of its own: answered once, no acknowledgement expected, nothing pushed. */
export function isDebugType(url: TypeUrl): boolean {
  return url === debugTypeUrl || url.startsWith(`${debugTypeUrl}/`);
}

const shortNames = new Map<string, string>([
  [typeUrl.cluster, "cds"],
  [typeUrl.endpoint, "eds"],
  [typeUrl.listener, "lds"],
  [typeUrl.route, "rds"],
  [typeUrl.scopedRoute, "srds"],
  [typeUrl.secret, "sds"],
  [typeUrl.extensionConfig, "ecds"],
  [typeUrl.nameTable, "nds"],
  [typeUrl.proxyConfig, "pcds"],
  [typeUrl.address, "wds"],
  [typeUrl.workload, "wds"],
  [typeUrl.authorization, "wads"],
]);

/** For labels of metrics and logs: a closed set, whatever clients ask for. */
export function shortName(url: TypeUrl): string {
  return shortNames.get(url) ?? (isDebugType(url) ? "debug" : "other");
}

/** For people: types without a short name by their URL. */
export function shownType(url: TypeUrl): string {
  const name = shortName(url);
  return name === "other" ? url : name;
}

/** A type URL of xDS: one of the table, `istio.io/debug/…`, or `group/version/Kind` of MCP. */
export type TypeUrl = string;

/** The type URL of a message, `type.googleapis.com/` and its full name. */
export function typeUrlOf(typeName: string): TypeUrl {
  return prefix + typeName;
}

/** The message's full name: what follows the last slash. */
export function typeNameOf(url: TypeUrl): string {
  return url.slice(url.lastIndexOf("/") + 1);
}

/** google.protobuf.Any through the registry. Like `encode`, takes plain objects too. */
export function pack<Desc extends DescMessage>(
  schema: Desc,
  message: MessageShape<Desc> | MessageInitShape<Desc>,
): Any {
  return create(AnySchema, { typeUrl: typeUrlOf(schema.typeName), value: encode(schema, message) });
}

/** The message inside; undefined when its type is unknown. @throws ProtoError when the bytes are not of that type. */
export function unpack(any: Any): Message | undefined {
  const desc = registry.getMessage(typeNameOf(any.typeUrl));
  return desc === undefined ? undefined : decode(desc, any.value);
}

/** The message inside, when it is of this type. @throws ProtoError when the bytes are not of that type. */
export function unpackAs<Desc extends DescMessage>(schema: Desc, any: Any): MessageShape<Desc> | undefined {
  return typeNameOf(any.typeUrl) === schema.typeName ? decode(schema, any.value) : undefined;
}
