/** Lays the templates over the pod, and keeps the templates' own result. */

import { isNothing, type Template, TemplateError } from "@flotilla/gotemplate";
import { ownValue } from "@flotilla/model";
import { names } from "./annotations.ts";
import type { InjectionConfig } from "./config.ts";
import { InjectionError } from "./errors.ts";
import type { Container, Json, Pod, Texts } from "./pod.ts";
import { mergeStrategically } from "./strategic-merge.ts";

export interface Rendering {
  /** The pod and the templates. */
  readonly merged: Pod;
  /** The templates alone. */
  readonly template: Pod;
}

/** @throws InjectionError INJECT_BAD_POD, INJECT_TEMPLATE_FAILED */
export function render(config: InjectionConfig, pod: Pod, data: Json): Rendering {
  const overlays = selectTemplates(config, pod.metadata.annotations ?? {}).map((name) => renderOne(config, name, data));
  const layOver = (base: Pod, overlay: Json): Pod => mergeStrategically(base, overlay);
  const template = overlays.reduce(layOver, { metadata: {}, spec: {} });
  return { merged: overlays.reduce(layOver, relocated(pod, template)), template };
}

/** The pod's containers in the lists where the templates have them: a native sidecar is an init container. */
function relocated(pod: Pod, { spec }: Pod): Pod {
  const { containers = [], initContainers = [] } = pod.spec;
  const has = (list: readonly Container[] = [], { name }: Container): boolean => list.some((one) => one.name === name);
  const toInit = containers.filter((one) => has(spec.initContainers, one));
  const toMain = initContainers.filter((one) => has(spec.containers, one) && !has(spec.initContainers, one));
  if (toInit.length === 0 && toMain.length === 0) return pod;
  const others = (list: readonly Container[], moved: readonly Container[]) =>
    list.filter((one) => !moved.includes(one));
  return {
    ...pod,
    spec: {
      ...pod.spec,
      containers: [...others(containers, toInit), ...toMain],
      initContainers: [...others(initContainers, toMain), ...toInit],
    },
  };
}

/** An alias stands for several templates; each is rendered once. */
function selectTemplates({ defaultTemplates, aliases }: InjectionConfig, annotations: Texts): readonly string[] {
  const asked = annotations[names.templates];
  const defaults = defaultTemplates.length === 0 ? ["sidecar"] : defaultTemplates;
  const chosen = asked === undefined ? defaults : asked.split(",").map((name) => name.trim());
  return [...new Set(chosen.flatMap((name) => ownValue(aliases, name) ?? [name]))];
}

function renderOne({ templates, parseYaml }: InjectionConfig, name: string, data: Json): Json {
  const template = templates.get(name);
  if (template === undefined) {
    const known = [...templates.keys()].sort().join(", ");
    throw new InjectionError("INJECT_BAD_POD", `requested template ${JSON.stringify(name)} not found; have ${known}`);
  }
  const text = execute(template, name, data);
  let value: unknown;
  try {
    value = parseYaml(text);
  } catch (cause) {
    const reason = (cause as Error).message.split("\n", 1)[0];
    throw new InjectionError("INJECT_TEMPLATE_FAILED", `template ${name} gives no YAML: ${reason}`, { cause });
  }
  if (isNothing(value)) return {};
  if (typeof value === "object" && !Array.isArray(value)) return value as Json;
  throw new InjectionError("INJECT_TEMPLATE_FAILED", `template ${name} gives no object`);
}

/** @throws InjectionError INJECT_TEMPLATE_FAILED with line and reason */
export function execute(template: Template, name: string, data: Json): string {
  try {
    return template.execute(data);
  } catch (cause) {
    if (!(cause instanceof TemplateError)) throw cause;
    const { place, reason } = cause;
    throw new InjectionError("INJECT_TEMPLATE_FAILED", `template ${name}, line ${place.line}: ${reason}`, { cause });
  }
}
