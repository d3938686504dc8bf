/**
 * Kubernetes probes an application from outside of the mesh, which mutual TLS refuses: probes go to the proxy's agent, which
 * asks the application from within the pod. What it asks stands in an environment variable of the proxy.
 */

import { names } from "../annotations.ts";
import { InjectionError } from "../errors.ts";
import { type Container, changeContainer, findProxy, type Json, type Pod, proxyName, type Texts } from "../pod.ts";

const environmentName = "ISTIO_KUBE_APP_PROBERS";

const probeKinds = [
  ["readinessProbe", "readyz"],
  ["livenessProbe", "livez"],
  ["startupProbe", "startupz"],
] as const;

export function rewriteProbes(pod: Pod, isDefault: boolean, statusPort: number): Pod {
  if (findProxy(pod.spec) === undefined || statusPort <= 0) return pod;
  if (!isRewriting(pod.metadata.annotations ?? {}, isDefault)) return pod;
  const { containers = [], initContainers } = pod.spec;
  const probers: Record<string, Json> = {};
  const rewritten = containers.map((container) => rewrite(container, statusPort, probers));
  const rewrittenInit = initContainers?.map((container) => rewrite(container, statusPort, probers));
  const spec = {
    ...pod.spec,
    containers: rewritten,
    ...(rewrittenInit === undefined ? {} : { initContainers: rewrittenInit }),
  };
  return withProbers({ ...pod, spec }, probers);
}

function isRewriting(annotations: Texts, isDefault: boolean): boolean {
  const own = annotations[names.rewriteProbes];
  return own === undefined || own === "" ? isDefault : own.toLowerCase() === "true";
}

/** Adds what is to be asked of the application to `probers`. */
function rewrite(container: Container, statusPort: number, probers: Record<string, Json>): Container {
  if (container.name === proxyName) return container;
  const changes = probeKinds.flatMap(([field, path]): readonly (readonly [string, Json])[] => {
    const probe = container[field] as Json | undefined;
    const address = `/app-health/${container.name}/${path}`;
    const prober = probe === undefined ? undefined : proberOf(probe, container, statusPort);
    if (probe === undefined || prober === undefined) return [];
    // own key: begins with a slash
    probers[address] = prober;
    return [[field, redirected(probe, address, statusPort)]];
  });
  const lifecycle = rewriteLifecycle(container, statusPort, probers);
  return { ...container, ...Object.fromEntries(changes), ...(lifecycle === undefined ? {} : { lifecycle }) };
}

/** Hooks are requests from outside of the pod as well. */
function rewriteLifecycle(container: Container, statusPort: number, probers: Record<string, Json>): Json | undefined {
  const { lifecycle } = container;
  if (lifecycle === undefined) return undefined;
  const hooks = [
    ["preStop", "prestopz"],
    ["postStart", "poststartz"],
  ] as const;
  const changes = hooks.flatMap(([field, path]): readonly (readonly [string, Json])[] => {
    const hook = lifecycle[field] as Json | undefined;
    const address = `/app-lifecycle/${container.name}/${path}`;
    const prober = hook === undefined ? undefined : proberOf(hook, container, statusPort);
    if (hook === undefined || prober === undefined) return [];
    // own key: begins with a slash
    probers[address] = prober;
    return [[field, redirected(hook, address, statusPort)]];
  });
  return { ...lifecycle, ...Object.fromEntries(changes) };
}

/** Undefined for probes that need no help: commands, and those that ask the agent already. */
function proberOf(probe: Json, container: Container, statusPort: number): Json | undefined {
  const timeout = probe["timeoutSeconds"] === undefined ? {} : { timeoutSeconds: probe["timeoutSeconds"] };
  for (const kind of ["httpGet", "tcpSocket", "grpc"] as const) {
    const action = probe[kind] as Json | undefined;
    if (action === undefined) continue;
    const port = portOf(action["port"], container);
    if (port === undefined || port === statusPort) return undefined;
    return { [kind]: { ...action, port }, ...timeout };
  }
  return undefined;
}

function portOf(port: unknown, { ports = [] }: Container): number | undefined {
  if (typeof port === "number") return port;
  const named = ports.find(({ name }) => name === port)?.containerPort;
  return named ?? (typeof port === "string" && /^\d+$/.test(port) ? Number(port) : undefined);
}

function redirected(probe: Json, path: string, port: number): Json {
  const { httpGet, tcpSocket: _, grpc: __, ...rest } = probe;
  const action = (httpGet ?? {}) as Json;
  // The agent speaks plain HTTP, whatever the application speaks.
  const scheme = action["scheme"] === "HTTPS" ? { scheme: "HTTP" } : {};
  return { ...rest, httpGet: { ...action, path, port, ...scheme } };
}

/** A pod that comes again brings probes that are rewritten already: theirs stay. */
function withProbers(pod: Pod, probers: Readonly<Record<string, Json>>): Pod {
  if (Object.keys(probers).length === 0) return pod;
  return changeContainer(pod, proxyName, (container) => {
    const env = container.env ?? [];
    const before = env.find(({ name }) => name === environmentName)?.value;
    const all = { ...(before === undefined ? {} : readProbers(before)), ...probers };
    const sorted = Object.fromEntries(Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1)));
    const value = JSON.stringify(sorted);
    return {
      ...container,
      env: [...env.filter(({ name }) => name !== environmentName), { name: environmentName, value }],
    };
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
