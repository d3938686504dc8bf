/** Suppressed findings: by options, and by an annotation of the object. */
import type { Finding } from "./finding.ts";
import type { MeshObject } from "./mesh-object.ts";

export interface Suppression {
  readonly code: string;
  /** `Kind name.namespace` with `*` for any text. */
  readonly object: string;
}

/** Of `CODE=Kind name.namespace`; undefined for another form. */
export function parseSuppression(text: string): Suppression | undefined {
  const [, code, object] = /^([A-Z]+\d+)=(\S+ .+)$/.exec(text.trim()) ?? [];
  return code === undefined || object === undefined ? undefined : { code, object };
}

export function isSuppressed(
  { code, object: { kind, namespace, name } }: Finding,
  by: readonly Suppression[],
): boolean {
  const title = `${kind} ${name}${namespace === "" ? "" : `.${namespace}`}`;
  return by.some((one) => one.code === code && matches(one.object, title));
}

/** `*` stands for any text. */
function matches(pattern: string, text: string): boolean {
  const [first = "", ...others] = pattern.split("*");
  const last = others.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const part of others) {
    const found = text.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}

const suppressAnnotation = "galley.istio.io/analyze-suppress";

/** True where the object's annotation suppresses the code: `IST0107,IST0108`, or `*` for all. */
export function isSuppressedByObject(code: string, { annotations }: MeshObject): boolean {
  const given = annotations[suppressAnnotation]?.split(",").map((one) => one.trim()) ?? [];
  return given.includes(code) || given.includes("*");
}
