/**
 * Kubernetes objects and protobuf messages as templates see them: as Go structs, whose fields are named `APIVersion` where
 * JSON has `apiVersion`, and of which every field exists.
 */

import { type Struct, zero } from "@flotilla/gotemplate";
import { ownValue } from "@flotilla/model";

type Json = Readonly<Record<string, unknown>>;

/** Fields that are maps in Go too: their keys are no field names. */
const mapFields: ReadonlySet<string> = new Set([
  "annotations",
  "binaryData",
  "data",
  "labels",
  "limits",
  "matchLabels",
  "nodeSelector",
  "overhead",
  "requests",
  "proxyMetadata",
  "proxyHeaders",
  "runtimeValues",
]);

/** A struct over a JSON object; `raw` gives it back to functions that write JSON or YAML. */
export class GoView implements Struct {
  readonly raw: Json;

  constructor(raw: Json) {
    this.raw = raw;
  }

  field(name: string): unknown {
    const value = ownValue(this.raw, jsonName(name));
    return value === undefined || value === null ? zero : view(jsonName(name), value);
  }
}

function view(name: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => view("", item));
  if (typeof value !== "object" || value === null) return value;
  return mapFields.has(name) ? value : new GoView(value as Json);
}

/** A protobuf message: getters, enums and wrapped scalars beside the plain fields. */
export class MessageView extends GoView {
  readonly #enums: Readonly<Record<string, string>>;

  /** `enums` names the enum fields with the value that stands for an unset one. */
  constructor(raw: Json, enums: Readonly<Record<string, string>> = {}) {
    super(raw);
    this.#enums = enums;
  }

  override field(name: string): unknown {
    const own = jsonName(name.replace(/^Get(?=[A-Z])/, ""));
    const value = ownValue(this.raw, own);
    const initial = ownValue(this.#enums, own);
    if (initial !== undefined) return new EnumView(typeof value === "string" ? value : initial);
    if (wrappedFields.has(own)) return new WrappedView(value);
    if (value === undefined || value === null) return zero;
    if (typeof value !== "object" || Array.isArray(value) || mapFields.has(own)) return value;
    return new MessageView(value as Json);
  }
}

class EnumView implements Struct {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  field(name: string): unknown {
    return name === "String" ? this.#text : undefined;
  }

  toString(): string {
    return this.#text;
  }
}

/** Scalars in a wrapper message, so that unset is not zero: templates ask them for their value. */
const wrappedFields: ReadonlySet<string> = new Set([
  "concurrency",
  "enableAutoMtls",
  "enablePrometheusMerge",
  "holdApplicationUntilProxyStarts",
  "verifyCertificateAtClient",
]);

class WrappedView implements Struct {
  readonly #value: unknown;

  constructor(value: unknown) {
    this.#value = value ?? zero;
  }

  field(name: string): unknown {
    return name === "GetValue" || name === "Value" ? this.#value : undefined;
  }

  toString(): string {
    return this.#value === zero ? "<nil>" : String(this.#value);
  }
}

/** The value behind a template value, as plain JSON. */
export function rawOf(value: unknown): unknown {
  if (value instanceof GoView) return value.raw;
  if (value === zero) return null;
  return Array.isArray(value) ? value.map(rawOf) : value;
}

/** `APIVersion` → `apiVersion`, `HTTPGet` → `httpGet`, `UID` → `uid`: the leading capitals, but not the next word's first. */
export function jsonName(name: string): string {
  const [capitals = ""] = /^[A-Z]*/.exec(name) ?? [];
  const startsWord = /^[a-z]/.test(name.slice(capitals.length));
  const count = startsWord ? Math.max(capitals.length - 1, Math.min(capitals.length, 1)) : capitals.length;
  return name.slice(0, count).toLowerCase() + name.slice(count);
}
