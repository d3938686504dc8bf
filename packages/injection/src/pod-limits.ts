/**
 * Bounds of a pod that is injected, checked before anything is computed from it. Whoever may create pods reaches the webhook with
 * them, and rendering and merging grow with what they hold.
 */

import { names } from "./annotations.ts";
import { InjectionError } from "./errors.ts";
import type { Pod } from "./pod.ts";

/** Kubernetes' own bound on all annotations of an object, in bytes. */
const maxAnnotationBytes = 262_144;
/** Of the annotation with a ProxyConfig, which is parsed: some thousand keys. */
const maxProxyConfigBytes = 65_536;
/** Far beyond what a kubelet starts. */
const maxContainers = 500;
const maxVolumes = 2_000;
const maxEnvironment = 5_000;

/** @throws InjectionError INJECT_BAD_POD naming the field and its bound */
export function checkPodLimits({ metadata, spec }: Pod): void {
  const { containers = [], initContainers = [], volumes = [] } = spec;
  const all = [...initContainers, ...containers];
  atMost("spec.containers and spec.initContainers", all.length, maxContainers, "containers");
  atMost("spec.volumes", volumes.length, maxVolumes, "volumes");
  const variables = all.reduce((sum, { env }) => sum + (Array.isArray(env) ? env.length : 0), 0);
  atMost("env of all containers", variables, maxEnvironment, "variables");
  const entries = Object.entries(metadata.annotations ?? {});
  const bytes = entries.reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(String(value)),
    0,
  );
  atMost("metadata.annotations", bytes, maxAnnotationBytes, "bytes");
  const proxyConfigBytes = Buffer.byteLength(String(metadata.annotations?.[names.proxyConfig] ?? ""));
  atMost(`annotation ${names.proxyConfig}`, proxyConfigBytes, maxProxyConfigBytes, "bytes");
}

function atMost(field: string, count: number, most: number, unit: string): void {
  if (count > most)
    throw new InjectionError("INJECT_BAD_POD", `${field}: ${count} ${unit}, at most ${most} are allowed`);
}
