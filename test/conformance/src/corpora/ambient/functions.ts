/** Single functions of istiod's ambient index, each with its counterpart here. */
import {
  addressBytes,
  canaryWeight,
  canonicalOf,
  crossNamespace,
  entryVisibility,
  hasEffectiveRules,
  inboundBinding,
  ingressUsesWaypoint,
  networkRange,
  servedOf,
  serviceAddress,
  serviceFacts,
  translatePolicy,
  wantedCanary,
  waypointAttachment,
} from "@flotilla/ambient";
import { type KubeObject, type Labels, parseCidr } from "@flotilla/model";
import { fromJson, type JsonObject, type JsonValue, toJson } from "@flotilla/proto";
import { AddressSchema, NetworkAddressSchema } from "@flotilla/proto/istio/workload/workload_pb";
import { AuthorizationPolicySchema } from "@flotilla/proto/security/v1beta1/authorization_policy_pb";
import { convertKubernetesService } from "@flotilla/registry/convert";
import { configOf, policyJson } from "./policies.ts";
import { type FunctionCase, type GoService, type GoServiceInfo, goKinds, istioObject } from "./types.ts";

/** Orders of maps are Go's, so that lists which come of one are compared without order. */
export function callFunction(one: FunctionCase): { readonly want: unknown; readonly got: unknown } {
  const driver = drivers[one.function];
  if (driver === undefined) throw new Error(`${one.function} has no counterpart here`);
  const want =
    one.function === "selectWorkloadServices" ? canonicalNames(one.expected.returns[0]) : one.expected.returns;
  return { want, got: driver(...one.args) };
}

type Driver = (...args: never[]) => unknown;

interface GoMeta {
  readonly labels?: Labels;
  readonly annotations?: Labels;
}

interface GoGateway {
  readonly metadata: GoMeta;
  readonly spec: { readonly listeners?: readonly { readonly name: string }[] };
}

interface GoBinding {
  readonly Port?: number;
  readonly Protocol?: number;
}

const drivers: Readonly<Record<string, Driver>> = {
  convertAuthorizationPolicy: (rootNamespace: string, object: JsonObject) => {
    const policy = istioObject("AuthorizationPolicy", object, "security.istio.io");
    const spec = fromJson(AuthorizationPolicySchema, policy["spec"] as JsonValue);
    const { authorization, problem } = translatePolicy(configOf("AuthorizationPolicy", policy, spec), {
      rootNamespace,
      sendsDryRun: false,
    });
    const status = problem === undefined ? null : { Message: problem, Reason: "UnsupportedValue" };
    return [policyJson(authorization), status];
  },
  hasEffectiveRules: (groups: Parameters<typeof hasEffectiveRules>[0]) => [hasEffectiveRules(groups)],
  parseCidrOrIP: (text: string) => {
    const range = parseCidr(text);
    if (range === undefined) throw new Error("the text of the error is Go's own");
    return [`${range.address}/${range.length}`, null];
  },
  toNetworkAddressFromCidr: (text: string, network: string) => {
    const [range] = networkRange(text, network);
    if (range === undefined) throw new Error(`${text} is no range`);
    const { address, ...others } = range;
    const message = { ...others, address: Buffer.from(addressBytes(address)).toString("base64") };
    return [toJson(NetworkAddressSchema, fromJson(NetworkAddressSchema, message)), null];
  },
  ReportWaypointCrossNamespaceForbidden: (waypoint: string) => {
    const [namespace = "", name = ""] = waypoint.split("/");
    const { reason, message } = crossNamespace({ namespace, name });
    return [{ Message: message, Reason: reason }];
  },
  selectWorkloadServices: (
    all: readonly { readonly ServiceInfo: GoServiceInfo & { readonly CreationTime: string } }[],
  ) => {
    const candidates = all.map(({ ServiceInfo: { Service, Source, CreationTime } }) => ({
      name: Service.name,
      namespace: Service.namespace,
      isKubernetes: Source?.Kind !== goKinds.serviceEntry,
      creationTimeMs: Date.parse(CreationTime),
      visibility:
        (Service as { readonly visibility?: string }).visibility === "NAMESPACE"
          ? ("namespace" as const)
          : entryVisibility(undefined, Service.namespace, {}),
    }));
    const served = servedOf(candidates);
    const canonical = canonicalOf(served);
    return served.map((one) => `${one.name} ${one === canonical}`).sort();
  },
  serviceToAddress: (service: GoService) => [
    toJson(AddressSchema, fromJson(AddressSchema, { service: service as unknown as JsonValue })),
  ],
  ingressUseWaypointFromLabels: (labels: Labels | null, namespaceLabels: Labels | null) => {
    const uses = ingressUsesWaypoint(labels ?? {}, namespaceLabels ?? {});
    return [uses !== undefined, uses === true];
  },
  makeInboundBinding: (
    { metadata }: GoGateway,
    gatewayClass: JsonObject & { readonly spec: { controllerName: string } },
  ) => {
    const { controllerName } = gatewayClass.spec;
    const binding = inboundBinding(
      { annotations: metadata.annotations ?? {} },
      { labels: {}, annotations: {}, controllerName },
    );
    if (binding === undefined) return [null];
    const { port, protocol } = binding;
    return [{ ...(port === 0 ? {} : { Port: port }), ...(protocol === "PROXY" ? { Protocol: 1 } : {}) }];
  },
  makeAllowedRoutes: ({ spec }: GoGateway, binding: GoBinding | null) => {
    const inbound = binding === null ? undefined : ({ protocol: "PROXY", port: binding.Port ?? 0 } as const);
    const { from } = waypointAttachment(spec, inbound);
    // A selector is a function in Go, which the recording shows as what it holds.
    const selector = from === "All" ? {} : from === "Selector" ? [{}] : undefined;
    return [{ FromNamespaces: from, ...(selector === undefined ? {} : { Selector: selector }) }];
  },
  getUseWaypointCanary: (meta: GoMeta, namespace: GoMeta | null, home: string) => {
    const name = wantedCanary(meta.labels ?? {}, namespace?.labels ?? {}, home);
    return [name === undefined ? null : { Name: name.name, Namespace: name.namespace }];
  },
  getCanaryWeight: (meta: GoMeta, namespace: GoMeta | null) => {
    const weight = canaryWeight(meta.annotations ?? {}, namespace?.annotations ?? {});
    return [weight ?? 0, weight !== undefined];
  },
  getVIPs: (object: JsonObject) => {
    const service = convertKubernetesService(
      { apiVersion: "v1", kind: "Service", ...object } as unknown as KubeObject,
      {
        ...{ domain: "cluster.local", clusterId: "cluster0", trustDomain: "cluster.local" },
      },
    );
    const context = { network: "", binding: {}, ingressUsesWaypoint: false, isCanonical: true, namespaceOnly: false };
    const { service: address } = toJson(AddressSchema, serviceAddress(serviceFacts(service, context))) as unknown as {
      readonly service: { readonly addresses?: readonly unknown[] };
    };
    return [address.addresses ?? []];
  },
};

function canonicalNames(returned: unknown): readonly string[] {
  const all = returned as readonly { readonly Service: GoService & { readonly canonical?: boolean } }[];
  return all.map(({ Service: { name, canonical = false } }) => `${name} ${canonical}`).sort();
}
