/** A structural OpenAPI v3 schema, as far as CustomResourceDefinitions use it. */

export interface Schema {
  readonly type?: "object" | "array" | "string" | "integer" | "number" | "boolean";
  readonly format?: string;
  readonly nullable?: boolean;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: boolean;
  readonly exclusiveMaximum?: boolean;
  readonly multipleOf?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly not?: Schema;
  readonly "x-kubernetes-int-or-string"?: boolean;
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
  readonly "x-kubernetes-list-type"?: "atomic" | "set" | "map";
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-validations"?: readonly Rule[];
}

/** A CEL rule; `self` is the value of the schema that it stands in. */
export interface Rule {
  readonly rule: string;
  readonly message?: string;
}

/** The schemas of one kind; `versions` points into `schemas`, since most versions share one. */
export interface KindSchemas {
  readonly versions: Readonly<Record<string, number>>;
  readonly schemas: readonly Schema[];
}

export type JsonObject = Readonly<Record<string, unknown>>;

/** `path` of a field; "" is the root. */
export function childPath(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

/** The schema of an object's field: its own, or the one for all further fields; undefined when it has none. */
export function fieldSchema(schema: Schema, name: string): Schema | undefined {
  const own = schema.properties !== undefined && Object.hasOwn(schema.properties, name);
  // own key: checked above
  if (own) return schema.properties[name];
  return typeof schema.additionalProperties === "object" ? schema.additionalProperties : undefined;
}
