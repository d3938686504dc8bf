/** JSON and base64. */
import type { TemplateFunctions } from "../builtins.ts";
import { isMap, isStruct, sortedKeys } from "../values.ts";
import { text } from "./arguments.ts";

const toJson = (value: unknown): string => JSON.stringify(sorted(value));
const fromJson = (value: unknown): unknown => JSON.parse(text(value));

export const encodingFunctions: TemplateFunctions = {
  toJson,
  mustToJson: toJson,
  toRawJson: toJson,
  toPrettyJson: (value) => JSON.stringify(sorted(value), undefined, 2),
  /** A text that is no JSON gives nil; `mustFromJson` refuses it. */
  fromJson: (value) => {
    try {
      return fromJson(value);
    } catch {
      return null;
    }
  },
  mustFromJson: fromJson,
  b64enc: (value) => btoa(String.fromCharCode(...new TextEncoder().encode(text(value)))),
  b64dec: (value) =>
    new TextDecoder().decode(Uint8Array.from(atob(text(value)), (character) => character.charCodeAt(0))),
};

/** Go writes the keys of maps in order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (isStruct(value) || !isMap(value)) return typeof value === "symbol" ? null : value;
  // own key: of the value
  return Object.fromEntries(sortedKeys(value).map((key) => [key, sorted(value[key])]));
}
