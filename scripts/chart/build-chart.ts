/**
 * The templates of k8s/chart, made of k8s/base and its components: what a component adds or changes stands under the value that
 * switches it on.
 */
import { isDeepStrictEqual } from "node:util";
import { keyOf, kustomize, type ManifestObject } from "./kustomize.ts";
import { putValues } from "./put-values.ts";
import { TemplateText } from "./template-text.ts";

/** Values that stand for a component. */
const switches: Readonly<Record<string, string>> = {
  "replicated-servers": ".Values.highAvailability",
  autoscaling: ".Values.autoscaling.enabled",
  crds: ".Values.installCrds",
  "cluster-trust-bundle": ".Values.clusterTrustBundle",
  ambient: ".Values.ambient.enabled",
  console: ".Values.console.enabled",
};
const settingsName = "ConfigMap/flotilla";

interface Variant {
  readonly condition: string;
  readonly objects: ReadonlyMap<string, ManifestObject>;
}

/** Text by file name. @throws Error when a component changes what the chart cannot express */
export function buildTemplates(kubectl: string): ReadonlyMap<string, string> {
  const byKey = (objects: readonly ManifestObject[]) => new Map(objects.map((object) => [keyOf(object), object]));
  const base = byKey(kustomize([], kubectl));
  const variants = Object.entries(switches).map(([component, condition]): Variant => {
    const objects = byKey(kustomize([component], kubectl));
    for (const key of base.keys()) if (!objects.has(key)) throw new Error(`${component} removes ${key}`);
    return { condition, objects };
  });
  const keys = new Set([...base.keys(), ...variants.flatMap(({ objects }) => [...objects.keys()])]);
  const files = new Map<string, string[]>();
  for (const key of keys) {
    const object = base.get(key) ?? variants.find(({ objects }) => objects.has(key))?.objects.get(key);
    // `helm install --create-namespace` makes it.
    if (object === undefined || object.kind === "Namespace" || key === settingsName) continue;
    const file = fileOf(object);
    files.set(file, [...(files.get(file) ?? []), documentOf(key, base.get(key), variants)]);
  }
  const all = [...files].map(([file, documents]): [string, string] => [`${file}.yaml`, header + documents.join("")]);
  return new Map([...all, ["_settings.tpl", settingsTemplate(base, variants)]]);
}

const header = "{{- /* Written by `pnpm chart` from k8s/base and k8s/components. */}}\n";

/** One object, with its variants under their conditions. */
function documentOf(key: string, object: ManifestObject | undefined, variants: readonly Variant[]): string {
  const changed = variants.filter(({ objects }) => objects.has(key) && !isDeepStrictEqual(objects.get(key), object));
  if (changed.length > 1) throw new Error(`several components change ${key}`);
  const [variant] = changed;
  const print = (one: ManifestObject) => {
    const text = new TemplateText();
    return text.print(putValues(one, text));
  };
  const other = variant?.objects.get(key);
  const condition = variant?.condition ?? "";
  const body =
    other === undefined
      ? print(object as ManifestObject)
      : object === undefined
        ? print(other)
        : `{{- if ${condition} }}\n${print(other)}{{- else }}\n${print(object)}{{- end }}\n`;
  const needed = [
    ...(object === undefined ? [condition] : []),
    ...(conditionOf((object ?? other) as ManifestObject) ?? []),
  ];
  if (needed.length === 0) return `---\n${body}`;
  return `{{- if ${needed.length === 1 ? needed[0] : `and ${needed.map((one) => `(${one})`).join(" ")}`} }}\n---\n${body}{{- end }}\n`;
}

/** Conditions of an object beside its component. */
function conditionOf({ kind, metadata: { name } }: ManifestObject): readonly string[] {
  const server = /^flotilla-(nats|redis)(-|$)/.exec(name)?.[1];
  return [
    ...(server === undefined ? [] : [`.Values.${server}.enabled`]),
    ...(kind === "NetworkPolicy" ? [".Values.networkPolicies.enabled"] : []),
    ...(kind === "PodDisruptionBudget" ? [".Values.disruptionBudgets.enabled"] : []),
  ];
}

function fileOf({ kind, metadata: { name } }: ManifestObject): string {
  if (kind === "NetworkPolicy") return "network-policies";
  if (kind === "PodDisruptionBudget") return "disruption-budgets";
  if (kind.endsWith("WebhookConfiguration")) return "admission";
  if (name === "istiod") return "xds-server";
  if (name.startsWith("flotilla-console")) return "console";
  const own = name.replace(/^flotilla-/, "");
  return kind === "ConfigMap" ? `${own}-config` : own;
}

/** The settings of all services, by which the chart makes the ConfigMap: those of a component under its value. */
function settingsTemplate(base: ReadonlyMap<string, ManifestObject>, variants: readonly Variant[]): string {
  const dataOf = (objects: ReadonlyMap<string, ManifestObject>) =>
    (objects.get(settingsName) as unknown as { readonly data: Readonly<Record<string, string>> }).data;
  const usual = dataOf(base);
  const text = new TemplateText();
  const entries = (data: Readonly<Record<string, string>>): string =>
    Object.entries(data)
      .map(([name, value]) => text.print({ [name]: value }))
      .join("");
  const blocks = variants.map(({ condition, objects }) => {
    const changed = Object.entries(dataOf(objects)).filter(([name, value]) => usual[name] !== value);
    return changed.length === 0
      ? ""
      : `{{- define "flotilla.settings.${condition.replace(/\W+/g, "")}" }}\n{{- if ${condition} }}\n${entries(Object.fromEntries(changed))}{{- end }}\n{{- end }}\n`;
  });
  const names = blocks.flatMap((block) => /define "([^"]+)"/.exec(block)?.[1] ?? []);
  const merged = names.map((name) => `(include "${name}" . | fromYaml)`).join(" ");
  return `${header}{{- define "flotilla.settings.usual" }}\n${entries(usual)}{{- end }}\n${blocks.join("")}{{- define "flotilla.settings" }}
{{- toYaml (mergeOverwrite (include "flotilla.settings.usual" . | fromYaml) ${merged}) }}
{{- end }}\n`;
}
