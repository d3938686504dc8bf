/**
 * The injection configuration, in the form in which Istio's installations have it: a document with templates, defaults and
 * selectors (`config` of the ConfigMap istio-sidecar-injector) and one with values (`values`).
 */
import { parseTemplate, sprigFunctions, type Template, TemplateError } from "@flotilla/gotemplate";
import type { LabelSelector } from "@flotilla/model";
import { parse } from "yaml";
import { InjectionError } from "./errors.ts";
import { createFragmentParser, type FragmentParser } from "./fragment-parser.ts";
import type { Json, Texts } from "./pod.ts";
import { templateFunctions } from "./template-functions.ts";

export interface InjectionConfig {
  readonly policy: string;
  /** Names of the templates for pods that name none; an empty list stands for `sidecar`. */
  readonly defaultTemplates: readonly string[];
  readonly aliases: Readonly<Record<string, readonly string[]>>;
  readonly templates: ReadonlyMap<string, Template>;
  /** The text of each template. */
  readonly templateTexts: Texts;
  /** For what the templates make. */
  readonly parseYaml: FragmentParser;
  readonly neverInject: readonly LabelSelector[];
  readonly alwaysInject: readonly LabelSelector[];
  readonly injectedAnnotations: Texts;
  readonly values: Json;
}

interface Document {
  readonly policy?: string;
  readonly defaultTemplates?: readonly string[] | null;
  readonly aliases?: Readonly<Record<string, readonly string[]>> | null;
  readonly templates?: Readonly<Record<string, string>> | null;
  readonly neverInjectSelector?: readonly LabelSelector[] | null;
  readonly alwaysInjectSelector?: readonly LabelSelector[] | null;
  readonly injectedAnnotations?: Texts | null;
}

/** @throws InjectionError INJECT_BAD_CONFIG with document and reason; template errors with their line */
export function parseInjectionConfig(configText: string, valuesText: string): InjectionConfig {
  const document: Document = parseObject("the injection configuration", configText);
  const values = parseObject("the values", valuesText);
  const sources = Object.entries(document.templates ?? {});
  if (sources.length === 0)
    throw new InjectionError("INJECT_BAD_CONFIG", "the injection configuration has no templates");
  return {
    policy: document.policy ?? "enabled",
    defaultTemplates: document.defaultTemplates ?? [],
    aliases: document.aliases ?? {},
    templateTexts: Object.fromEntries(sources),
    templates: new Map(sources.map(([name, source]) => [name, compile(name, source)])),
    parseYaml: createFragmentParser(),
    neverInject: document.neverInjectSelector ?? [],
    alwaysInject: document.alwaysInjectSelector ?? [],
    injectedAnnotations: document.injectedAnnotations ?? {},
    values,
  };
}

function compile(name: string, source: string): Template {
  try {
    return parseTemplate(source, { name, functions: { ...sprigFunctions, ...templateFunctions } });
  } catch (cause) {
    if (!(cause instanceof TemplateError)) throw cause;
    const { place, reason } = cause;
    throw new InjectionError("INJECT_BAD_CONFIG", `template ${place.template}, line ${place.line}: ${reason}`, {
      cause,
    });
  }
}

function parseObject(what: string, text: string): Json {
  let value: unknown;
  try {
    value = parse(text);
  } catch (cause) {
    throw new InjectionError("INJECT_BAD_CONFIG", `${what}: ${(cause as Error).message.split("\n", 1)[0]}`, { cause });
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Json;
  throw new InjectionError("INJECT_BAD_CONFIG", `${what}: is no object`);
}

export interface ValueSettings {
  /** hub/name:tag */
  readonly proxyImage: string | undefined;
  /** Name of the ConfigMap. */
  readonly rootConfigMap: string | undefined;
  /** Of the control plane, from where proxies get their certificates. */
  readonly namespace: string;
  /** Proxies report it: ca asks its API server about their tokens. Values that name a cluster count more. */
  readonly clusterId: string;
}

const image = /^(?<hub>.+)\/(?<name>[^/:@]+):(?<tag>[^/:@]+)$/;

/**
 * Settings of the webhook that replace values of the injection configuration, from wherever that one comes. @throws
 * InjectionError INJECT_BAD_CONFIG for an image that is not hub/name:tag
 */
export function valueOverrides({
  proxyImage,
  rootConfigMap,
  namespace: istioNamespace,
  clusterId,
}: ValueSettings): (config: InjectionConfig) => InjectionConfig {
  const parts = proxyImage === undefined ? undefined : image.exec(proxyImage)?.groups;
  if (proxyImage !== undefined && parts === undefined)
    throw new InjectionError("INJECT_BAD_CONFIG", `PROXY_IMAGE: ${proxyImage} is not hub/name:tag`);
  return (config) => {
    const global = (config.values["global"] ?? {}) as Json;
    const proxy = parts && {
      hub: parts["hub"],
      tag: parts["tag"],
      variant: "",
      proxy: { ...(global["proxy"] as Json | undefined), image: parts["name"] },
      proxy_init: { ...(global["proxy_init"] as Json | undefined), image: parts["name"] },
    };
    const bundle = rootConfigMap !== undefined && { trustBundleName: rootConfigMap };
    const named = (global["multiCluster"] ?? {}) as Json;
    const multiCluster = { ...named, clusterName: named["clusterName"] || clusterId };
    const adjusted = { ...global, ...proxy, ...bundle, multiCluster, istioNamespace };
    return { ...config, values: { ...config.values, global: adjusted } };
  };
}
