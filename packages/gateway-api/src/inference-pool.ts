/**
 * InferencePools of the Gateway API's Inference Extension: a headless Service stands for each pool that a route leads to, and its labels
 * name the endpoint picker. Names and labels are istiod's, so that either control plane takes over from the other.
 */
import { type Config, type Labels, ownValue } from "@flotilla/model";
import type { EndpointPicker, PoolService } from "./backends.ts";
import type { ObjectRef } from "./route-spec.ts";

export const inferenceGroup = "inference.networking.k8s.io";

export interface InferencePoolSpec {
  readonly selector?: { readonly matchLabels?: Labels };
  readonly targetPorts?: readonly { readonly number?: number }[];
  readonly appProtocol?: string;
  readonly endpointPickerRef?: {
    readonly group?: string;
    readonly kind?: string;
    readonly name?: string;
    readonly port?: { readonly number?: number };
    readonly failureMode?: string;
  };
}

const poolLabel = "istio.io/inferencepool-name";
const pickerLabels = {
  name: "istio.io/inferencepool-extension-service",
  port: "istio.io/inferencepool-extension-port",
  failureMode: "istio.io/inferencepool-extension-failure-mode",
};
const semanticsLabel = "internal.istio.io/service-semantics";
const poolSemantics = "inferencepool";
const maxNameLength = 63;

export function isPoolRef({ group = "", kind = "Service" }: ObjectRef): boolean {
  return group === inferenceGroup && kind === "InferencePool";
}

/** True where a service stands for a pool: gateways follow its endpoint picker. */
export function isPoolService(labels: Labels): boolean {
  return ownValue(labels, semanticsLabel) === poolSemantics;
}

/** @param sha256 the hash of a text, in hexadecimal digits */
export function poolServiceName(pool: string, sha256: (text: string) => string): string {
  const suffix = `-ip-${sha256(pool).slice(0, 8)}`;
  return `${pool.slice(0, maxNameLength - suffix.length)}${suffix}`;
}

/** A pool's Service, as routes see it. `home` is the domain of its namespace's Services, `service` the name of its own. */
export function poolServiceOf(
  { home, service: name }: { readonly home: string; readonly service: string },
  serviceOf: (host: string) => { readonly labels: Labels; readonly port: number | undefined } | undefined,
): PoolService {
  const host = `${name}.${home}`;
  const service = serviceOf(host);
  return { host, port: service?.port, picker: service && pickerOf(service.labels, home) };
}

function pickerOf(labels: Labels, home: string): EndpointPicker | undefined {
  const [name, port, failureMode] = [pickerLabels.name, pickerLabels.port, pickerLabels.failureMode].map((label) =>
    ownValue(labels, label),
  );
  if (!name || !port || !failureMode) return undefined;
  return { host: `${name}.${home}`, port: Number(port), failsOpen: failureMode === "FailOpen" };
}

const firstPort = 54321;

/** The Service as the API server takes it, but for its owner; undefined where the pool names no endpoint picker with a port. */
export function poolService(
  { key, spec }: Pick<Config<InferencePoolSpec>, "key" | "spec">,
  name: string,
): PoolServiceObject | undefined {
  const { selector = {}, targetPorts = [], appProtocol, endpointPickerRef: picker = {} } = spec;
  if (picker.name === undefined || picker.port?.number === undefined) return undefined;
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      name,
      namespace: key.namespace,
      labels: {
        [poolLabel]: key.name,
        [pickerLabels.name]: picker.name,
        [pickerLabels.port]: String(picker.port.number),
        [pickerLabels.failureMode]: picker.failureMode ?? "FailClose",
        [semanticsLabel]: poolSemantics,
      },
    },
    spec: {
      ...{ selector: selector.matchLabels ?? {}, type: "ClusterIP", clusterIP: "None" },
      ports: targetPorts.map(({ number = 0 }, index) => ({
        ...{ name: `http-${index}`, protocol: "TCP", port: firstPort + index, targetPort: number },
        ...(appProtocol !== undefined && { appProtocol }),
      })),
    },
  };
}

export interface PoolServiceObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels: Labels;
  };
  readonly spec: {
    readonly selector: Labels;
    readonly type: string;
    readonly clusterIP: string;
    readonly ports: readonly Readonly<Record<string, unknown>>[];
  };
}

/** A Service that is somebody else's is left alone. */
export function isOwnPoolService(labels: Labels): boolean {
  return ownValue(labels, poolLabel) !== undefined;
}
