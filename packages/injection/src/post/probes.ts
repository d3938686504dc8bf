/**
 * Kubernetes probes an application from outside of the mesh, which mutual TLS refuses: probes go to the proxy's agent, which asks the
 * application from within the pod. The agent's requests stand in an environment variable of the proxy.
 */

import { ownValue, parseBoolean } from "@flotilla/model";
import { names } from "../annotations.ts";
import { InjectionError } from "../errors.ts";
import { type Container, changeContainer, findProxy, type Json, type Pod, proxyName } from "../pod.ts";

const environmentName = "ISTIO_KUBE_APP_PROBERS";

const probeKinds = [
  ["readinessProbe", "readyz"],
  ["livenessProbe", "livez"],
  ["startupProbe", "startupz"],
] as const;
const hookKinds = [
  ["preStop", "prestopz"],
  ["postStart", "poststartz"],
] as const;
const probeActions = ["httpGet", "tcpSocket", "grpc"] as const;
const hookActions = ["httpGet", "tcpSocket"] as const;

export interface ProbePorts {
  /** Of the pod's agent, where probes go. */
  readonly status: number;
  /** Ports of the mesh: probes to them are rewritten already. */
  readonly mesh: number;
}

/** differs: without a port of the agent (status.sidecar.istio.io/port: "0") probes stay, where istiod sends them to port 0. */
export function rewriteProbes(pod: Pod, isDefault: boolean, ports: ProbePorts): Pod {
  if (findProxy(pod.spec) === undefined || ports.status <= 0) return pod;
  const own = parseBoolean(pod.metadata.annotations?.[names.rewriteProbes] ?? "");
  if (!(own ?? isDefault)) return pod;
  const { containers = [], initContainers } = pod.spec;
  const probers: Record<string, Json> = {};
  const rewritten = containers.map((container) => rewrite(container, ports, probers));
  const rewrittenInit = initContainers?.map((container) => rewrite(container, ports, probers));
  const spec = {
    ...pod.spec,
    containers: rewritten,
    ...(rewrittenInit === undefined ? {} : { initContainers: rewrittenInit }),
  };
  return withProbers({ ...pod, spec }, probers);
}

/** Adds what is to be asked of the application to `probers`. */
function rewrite(container: Container, ports: ProbePorts, probers: Record<string, Json>): Container {
  if (container.name === proxyName) return container;
  const parts: Parts = { holder: container, kinds: probeKinds, path: `/app-health/${container.name}` };
  const changes = redirect(parts, container, ports, probers);
  const { lifecycle } = container;
  if (lifecycle === undefined) return { ...container, ...changes };
  const hooks: Parts = { holder: lifecycle, kinds: hookKinds, path: `/app-lifecycle/${container.name}` };
  return { ...container, ...changes, lifecycle: { ...lifecycle, ...redirect(hooks, container, ports, probers) } };
}

interface Parts {
  /** Owner of the probes: a container, or its lifecycle. */
  readonly holder: Json;
  readonly kinds: readonly (readonly [field: string, page: string])[];
  readonly path: string;
}

/** Commands need no help. A hook by gRPC does not exist. */
function redirect(
  { holder, kinds, path }: Parts,
  container: Container,
  ports: ProbePorts,
  probers: Record<string, Json>,
): Json {
  const changes = kinds.flatMap(([field, page]): readonly (readonly [string, Json])[] => {
    const probe = ownValue(holder, field) as Json | undefined;
    const kind = (kinds === hookKinds ? hookActions : probeActions).find(
      (one) => probe !== undefined && ownValue(probe, one) !== undefined,
    );
    if (probe === undefined || kind === undefined) return [];
    const address = `${path}/${page}`;
    const prober = proberOf(probe, kind, container, ports.mesh);
    // own key: begins with a slash
    if (prober !== undefined) probers[address] = prober;
    return [[field, redirected(probe, address, ports.status)]];
  });
  return Object.fromEntries(changes);
}

/** Undefined for those that ask the agent already, and for ports that the container does not name. */
function proberOf(probe: Json, kind: string, container: Container, meshPort: number): Json | undefined {
  const timeout = (probe["timeoutSeconds"] ?? 0) === 0 ? {} : { timeoutSeconds: probe["timeoutSeconds"] };
  const action = ownValue(probe, kind) as Json;
  if (kind === "grpc") return { grpc: action, ...timeout };
  const { ports = [] } = container;
  const given = action["port"];
  const port = typeof given === "string" ? ports.findLast(({ name }) => name === given)?.containerPort : given;
  return port === undefined || given === meshPort ? undefined : { [kind]: { ...action, port }, ...timeout };
}

function redirected(probe: Json, path: string, port: number): Json {
  const { httpGet, tcpSocket: _, grpc: __, ...rest } = probe;
  const action = (httpGet ?? {}) as Json;
  // The agent speaks plain HTTP, whatever the application speaks.
  const scheme = action["scheme"] === "HTTPS" ? { scheme: "HTTP" } : {};
  return { ...rest, httpGet: { ...action, path, port, ...scheme } };
}

/** A pod that is injected again has rewritten probes already: they stay. */
function withProbers(pod: Pod, probers: Readonly<Record<string, Json>>): Pod {
  if (Object.keys(probers).length === 0) return pod;
  return changeContainer(pod, proxyName, (container) => {
    const env = container.env ?? [];
    const place = env.findIndex(({ name }) => name === environmentName);
    const before = place === -1 ? {} : readProbers(env[place]?.value ?? "");
    const sorted = Object.entries({ ...probers, ...before }).sort(([a], [b]) => (a < b ? -1 : 1));
    const variable = { name: environmentName, value: JSON.stringify(Object.fromEntries(sorted)) };
    return { ...container, env: place === -1 ? [...env, variable] : env.with(place, variable) };
  });
}

/** @throws InjectionError INJECT_BAD_POD */
function readProbers(text: string): Json {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Json;
  } catch (cause) {
    throw new InjectionError("INJECT_BAD_POD", `${environmentName} of container ${proxyName} is no JSON`, { cause });
  }
  throw new InjectionError("INJECT_BAD_POD", `${environmentName} of container ${proxyName} is no object`);
}
