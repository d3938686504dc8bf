/**
 * Names of objects, wherever they are read: what every API server asks of them (a segment of a path), and Kubernetes' bounds on their
 * length. Kinds of their own may ask for more.
 */
import { type TextOf, textCodec } from "./text-codec.ts";

/** `namespace/name` of an object whose kind is known; without a namespace it begins with the slash. */
export const objectName = textCodec("ObjectName", "/", ["namespace", "name"]);
export type ObjectName = TextOf<typeof objectName>;

/** Of names, in characters; those of namespaces may have 63. */
const maxNameLength = 253;
export const maxNamespaceLength = 63;

/** Why a text is no name of an object or namespace; undefined for a good one. */
export function problemOfName(name: string, maxLength = maxNameLength): string | undefined {
  if (name === "") return "is empty";
  if (name.length > maxLength) return `has ${name.length} characters, ${maxLength} are allowed`;
  if (name === "." || name === "..") return `must not be "${name}"`;
  const [wrong] = /[/%\s\p{Cc}]/u.exec(name) ?? [];
  return wrong === undefined ? undefined : `must not contain ${JSON.stringify(wrong)}`;
}
