/** ProxyConfig and image of the proxy of one pod: those of the mesh, overridden by ProxyConfig objects and the pod's annotations. */
import {
  defaultMeshConfig,
  effectiveProxyConfig,
  equalJson,
  type JsonObject,
  noProxyConfigs,
  ownValue,
} from "@flotilla/model";
import { parse } from "yaml";
import { names } from "./annotations.ts";
import { InjectionError } from "./errors.ts";
import type { Json, Texts } from "./pod.ts";

/** @throws InjectionError INJECT_BAD_POD when the annotation is no YAML object */
export function proxyConfigOf(mesh: Json, annotations: Texts, layers = noProxyConfigs): Json {
  const base = (mesh["defaultConfig"] ?? {}) as JsonObject;
  const text = annotations[names.proxyConfig] ?? "";
  const own = text.trim() === "" ? undefined : (parseAnnotation(text) as JsonObject);
  return effectiveProxyConfig(base, layers, own);
}

function parseAnnotation(text: string): Json {
  let value: unknown;
  try {
    // Comparing each key with all others takes seconds for a large mapping; of a repeated key the last one counts.
    value = parse(text, { uniqueKeys: false });
  } catch (cause) {
    const reason = (cause as Error).message.split("\n", 1)[0];
    throw new InjectionError("INJECT_BAD_POD", `annotation ${names.proxyConfig} is no YAML: ${reason}`, { cause });
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Json;
  throw new InjectionError("INJECT_BAD_POD", `annotation ${names.proxyConfig} is no object`);
}

/** Only differences from the defaults, which the agent has: the pod's text stays short and old agents understand it. */
export function cleanProxyConfig(config: Json): Json {
  const defaults = (defaultMeshConfig["defaultConfig"] ?? {}) as Json;
  const own = Object.entries(config).filter(
    ([name, value]) => value !== null && !equalJson(value, ownValue(defaults, name)),
  );
  return Object.fromEntries(own.sort(([a], [b]) => (a < b ? -1 : 1)));
}

interface Global {
  readonly hub?: unknown;
  readonly tag?: unknown;
  readonly variant?: unknown;
}

const variants = ["debug", "distroless"];

/** The image that the proxy of a pod runs: hub, name, tag and variant, from the values, the mesh and the pod. */
export function proxyImage(values: Json, proxyConfig: Json, annotations: Texts, image: string): string {
  const { hub = "", tag = "", variant = "" } = (values["global"] ?? {}) as Global;
  const configured = (proxyConfig["image"] as Json | undefined)?.["imageType"];
  const wanted = annotations[names.proxyImageType] ?? (configured as string | undefined) ?? String(variant ?? "");
  const name = image === "" ? "proxyv2" : image;
  return `${hub}/${name}:${withVariant(String(tag), wanted)}`;
}

/** `default` is the image without a variant, so that a pod can leave the mesh's. */
function withVariant(tag: string, wanted: string): string {
  if (wanted === "") return tag;
  const known = variants.find((variant) => tag.endsWith(`-${variant}`));
  const plain = known === undefined ? tag : tag.slice(0, -known.length - 1);
  return wanted === "default" ? plain : `${plain}-${wanted}`;
}
