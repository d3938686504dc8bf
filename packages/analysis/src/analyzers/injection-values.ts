/** The values of a ConfigMap of injection, and the proxy image that they lead to. */
import { isObject } from "@flotilla/model";
import { field, fieldAt, textOf } from "@flotilla/validation/field";
import type { MeshObject } from "../mesh-object.ts";

/** The JSON of `data.values`; empty where there is none. */
export function parsedValues({ whole }: MeshObject): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(textOf(fieldAt(whole, "data", "values")) || "{}");
    return isObject(value) ? value : {};
  } catch {
    // Values that are no JSON are the concern of the webhook, which refuses to start with them.
    return {};
  }
}

/** The image of new proxies, without the variant that pods may ask for. */
export function proxyImageOfValues(map: MeshObject): string {
  const global = { value: parsedValues(map)["global"], path: "" };
  const image = textOf(fieldAt(global, "proxy", "image"));
  return image.includes("/") ? image : `${textOf(field(global, "hub"))}/${image}:${tagOf(field(global, "tag").value)}`;
}

/** Tags such as 1.30 may be numbers. */
function tagOf(tag: unknown): string {
  return typeof tag === "string" || typeof tag === "number" ? String(tag) : "";
}
