/** Which image the proxy of a pod runs: hub, name, tag and variant, from the values, the mesh and the pod. */
import { names } from "./annotations.ts";
import type { Json, Texts } from "./pod.ts";

interface Global {
  readonly hub?: unknown;
  readonly tag?: unknown;
  readonly variant?: unknown;
}

const variants = ["debug", "distroless"];

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
