/**
 * InferencePools of the Gateway API's Inference Extension: a headless Service stands for each pool that a route leads to, and its labels
 * name the endpoint picker. Names and labels are istiod's, so that either control plane takes over from the other.
 */
import { type Labels, ownValue } from "@flotilla/model";
import type { EndpointPicker, PoolService } from "./backends.ts";
import type { ObjectRef } from "./route-spec.ts";

const inferenceGroup = "inference.networking.k8s.io";

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

/** Whether a service stands for a pool: gateways follow its endpoint picker. */
export function isPoolService(labels: Labels): boolean {
  return ownValue(labels, semanticsLabel) === poolSemantics;
}

/** @param sha256 the hash of a text, in hexadecimal digits */
export function poolServiceName(pool: string, sha256: (text: string) => string): string {
  const suffix = `-ip-${sha256(pool).slice(0, 8)}`;
  return `${pool.slice(0, maxNameLength - suffix.length)}${suffix}`;
}

/** What a pool's Service is to routes. `home` is the domain of its namespace's Services, `service` the name of its own. */
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
