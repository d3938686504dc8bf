/**
 * A pod may bring containers that a template has too, such as istio-proxy with resources of its own: the template fills them, and the pod's
 * own fields take precedence. They are noted in an annotation, so that a pod that is injected again (a webhook may be called twice, and pods are
 * copied) is injected from its author's text and not from the result of injection.
 */
import { names } from "./annotations.ts";
import {
  annotate,
  type Container,
  changeContainer,
  findProxy,
  initName,
  type Json,
  type Pod,
  type PodSpec,
  proxyName,
  validationName,
} from "./pod.ts";
import { mergeStrategically } from "./strategic-merge.ts";

interface Containers {
  readonly containers?: readonly Container[];
  readonly initContainers?: readonly Container[];
}

interface Status
  extends Partial<Record<"containers" | "initContainers" | "volumes" | "imagePullSecrets", readonly string[] | null>> {}

/** The pod as its author wrote it, as far as the notes of an earlier injection report. */
export function withoutInjection(pod: Pod): Pod {
  const annotations = pod.metadata.annotations ?? {};
  const status: Status | undefined = parseNote(annotations[names.status]);
  if (status === undefined) return pod;
  const noted: Containers = parseNote(annotations[names.overrides]) ?? {};
  const own = (
    list: readonly Container[] = [],
    injected: readonly string[] | null | undefined,
    before: readonly Container[] = [],
  ) => [...list.filter(({ name }) => injected?.includes(name) !== true), ...before];
  const { containers, initContainers, ...rest } = pod.spec;
  const spec: PodSpec = {
    ...rest,
    containers: own(containers, status.containers, noted.containers),
    initContainers: own(initContainers, status.initContainers, noted.initContainers),
  };
  return { ...pod, spec };
}

export interface Overriding {
  /** The pod as it came. */
  readonly original: Pod;
  readonly template: Pod;
  readonly proxyConfig: Json;
}

/** Lays the author's containers over those of the templates. */
export function reapplyOverrides(merged: Pod, { original, template, proxyConfig }: Overriding): Pod {
  const noted: Containers = parseNote(original.metadata.annotations?.[names.overrides]) ?? {};
  const status = original.metadata.annotations?.[names.status];
  const isAgain = status !== undefined;
  const earlier: Status = parseNote(status) ?? {};
  const isInjected = (name: string): boolean =>
    [earlier.containers, earlier.initContainers].some((list) => list?.includes(name));
  const find = (name: string, before: readonly Container[] = []): Container | undefined => {
    const own = before.find((container) => container.name === name);
    if (own !== undefined || isInjected(name)) return own;
    const { containers = [], initContainers = [] } = original.spec;
    return [...containers, ...initContainers].find((container) => container.name === name);
  };
  const overridesOf = (list: readonly Container[] = [], before?: readonly Container[]): readonly Container[] =>
    list
      .map(({ name }) => find(name, before))
      .filter((container) => container !== undefined)
      .map(withoutAutoImage);
  const containers = overridesOf(template.spec.containers, noted.containers);
  const initContainers = overridesOf(template.spec.initContainers, noted.initContainers);
  const pod = applyInPlace(applyInPlace(merged, "containers", containers), "initContainers", initContainers);
  const note = noteOf({ containers, initContainers });
  const annotated = isAgain || note === undefined ? pod : annotate(pod, { [names.overrides]: note });
  return alignUsers(annotated, original, proxyConfig);
}

/** `auto` asks for the template's image, and keeps the pod valid where injection is away. */
function withoutAutoImage(container: Container): Container {
  if (container.image !== "auto") return container;
  const { image: _, ...rest } = container;
  return rest;
}

function applyInPlace(pod: Pod, list: "containers" | "initContainers", overrides: readonly Container[]): Pod {
  if (overrides.length === 0) return pod;
  const merged = (pod.spec[list] ?? []).map((container) => {
    const override = overrides.find(({ name }) => name === container.name);
    return override === undefined ? container : mergeStrategically(container, override as Json);
  });
  return { ...pod, spec: { ...pod.spec, [list]: merged } };
}

function noteOf({ containers = [], initContainers = [] }: Containers): string | undefined {
  const parts = {
    ...(containers.length === 0 ? {} : { containers }),
    ...(initContainers.length === 0 ? {} : { initContainers }),
  };
  return Object.keys(parts).length === 0 ? undefined : JSON.stringify(parts);
}

/** The rules that spare the proxy's own traffic recognize it by its user: a pod that changes the user changes them. */
function alignUsers(pod: Pod, original: Pod, proxyConfig: Json): Pod {
  const { runAsUser, runAsGroup } = findProxy(original.spec)?.securityContext ?? {};
  if (runAsUser === undefined && runAsGroup === undefined) return pod;
  const { initContainers = [] } = pod.spec;
  const name = [initName, validationName].find((one) => initContainers.some((container) => container.name === one));
  if (name === undefined) return pod;
  const mode = pod.metadata.annotations?.[names.interceptionMode];
  const isTransparent = proxyConfig["interceptionMode"] === "TPROXY" || mode === "TPROXY";
  const asRoot = (container: Container): Container => ({
    ...container,
    securityContext: { ...container.securityContext, runAsUser: 0 },
  });
  // Capture of traffic by TPROXY needs root: another user could not.
  const rooted = isTransparent && runAsUser !== undefined ? changeContainer(pod, proxyName, asRoot) : pod;
  return changeContainer(rooted, name, (container) => {
    // The validation runs as the proxy's user, since it tries what the proxy does.
    const user = !isTransparent && name === validationName ? defined({ runAsUser, runAsGroup }) : {};
    const args =
      runAsUser === undefined || runAsUser === 0
        ? container.args
        : replaceFlag(container.args, "-u", String(runAsUser));
    const securityContext = { ...container.securityContext, ...user };
    return { ...container, ...(args === undefined ? {} : { args }), securityContext };
  });
}

function replaceFlag(args: readonly string[] | undefined, flag: string, value: string): readonly string[] | undefined {
  const place = args?.indexOf(flag) ?? -1;
  return place === -1 ? args : args?.with(place + 1, value);
}

function defined(value: Json): Json {
  return Object.fromEntries(Object.entries(value).filter(([, part]) => part !== undefined));
}

/** An annotation that somebody broke is as good as none. */
function parseNote<T>(text: string | undefined): T | undefined {
  if (text === undefined || text === "") return undefined;
  try {
    return JSON.parse(text) as T;
  } catch {
    return undefined;
  }
}
