/** Fields and values that fit at a place of a YAML text, from the schema of its kind. Pure. */
import type { KindRow } from "../../contract/index.ts";
import { type YamlPlace, yamlPlace } from "./yaml-place.ts";

/** Words of JSON schema that completion reads. */
export interface FieldSchema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, FieldSchema>>;
  readonly items?: FieldSchema;
  readonly additionalProperties?: FieldSchema | boolean;
}

/** Schemas by the names of their kinds, as far as they are loaded. */
export interface KnownKinds {
  readonly kinds: readonly KindRow[];
  readonly schemas: ReadonlyMap<string, FieldSchema>;
}

export interface Completion {
  readonly label: string;
  /** Replaces the word that is typed. */
  readonly insert: string;
  /** Type of the field, in a few words. */
  readonly detail: string;
  readonly description: string;
  readonly isRequired: boolean;
}

export interface Completions {
  readonly word: string;
  readonly from: number;
  readonly items: readonly Completion[];
}

/** The kind of the document that the caret is in: its schema is what completion needs. */
export function kindAt(text: string, caret: number, kinds: readonly KindRow[]): KindRow | undefined {
  const place = yamlPlace(text, caret);
  return place && kindOf(place, kinds);
}

/** Undefined where nothing fits. */
export function completionsAt(text: string, caret: number, known: KnownKinds): Completions | undefined {
  const place = yamlPlace(text, caret);
  if (place === undefined) return undefined;
  const items = fitting(choicesAt(place, known), place.word);
  return items.length === 0 ? undefined : { word: place.word, from: place.from, items };
}

const groupOf = (apiVersion: string): string => apiVersion.split("/")[0] ?? "";

/** Two groups may have a kind of one name. */
function kindOf({ kind, apiVersion }: YamlPlace, kinds: readonly KindRow[]): KindRow | undefined {
  const named = kinds.filter((one) => one.kind === kind);
  return named.find((one) => apiVersion !== undefined && groupOf(one.apiVersion) === groupOf(apiVersion)) ?? named[0];
}

function choicesAt(place: YamlPlace, { kinds, schemas }: KnownKinds): readonly Completion[] {
  const kind = kindOf(place, kinds);
  const { path, typed, apiVersion } = place;
  if (typed === "value" && path.length === 1 && path[0] === "kind")
    return valuesOf({ enum: kindNames(kinds, apiVersion) });
  const root = (kind && schemas.get(kind.name)) ?? anyKind(kinds);
  const schema = schemaAt(root, path);
  if (schema === undefined) return [];
  if (typed === "value") return valuesOf(schema);
  if (schema.items === undefined) return place.isInItem ? [] : fieldsOf(schema, place, "");
  const item = schema.items;
  const dash = place.isInItem ? "" : "- ";
  const values = place.isInItem ? valuesOf(item) : [];
  return [...fieldsOf(item, place, dash), ...values];
}

function kindNames(kinds: readonly KindRow[], apiVersion: string | undefined): readonly string[] {
  const ofGroup = kinds.filter((one) => apiVersion === undefined || groupOf(one.apiVersion) === groupOf(apiVersion));
  return [...new Set(ofGroup.map(({ kind }) => kind))];
}

/** Fields of every object. */
function anyKind(kinds: readonly KindRow[]): FieldSchema {
  return {
    required: ["apiVersion", "kind", "metadata"],
    properties: {
      apiVersion: { type: "string", enum: [...new Set(kinds.map(({ apiVersion }) => apiVersion))].toSorted() },
      kind: { type: "string" },
      metadata: { type: "object", properties: { name: { type: "string" }, namespace: { type: "string" } } },
    },
  };
}

/** Through the elements of lists and the values of maps. */
function schemaAt(root: FieldSchema, path: readonly string[]): FieldSchema | undefined {
  let at: FieldSchema | undefined = root;
  for (const field of path) {
    while (at?.items !== undefined) at = at.items;
    const properties: Readonly<Record<string, FieldSchema>> = at?.properties ?? {};
    const others: FieldSchema | boolean | undefined = at?.additionalProperties;
    at = Object.hasOwn(properties, field) ? properties[field] : typeof others === "object" ? others : undefined;
  }
  return at;
}

function fieldsOf(schema: FieldSchema, { present, column }: YamlPlace, dash: string): readonly Completion[] {
  const required = new Set(schema.required);
  return Object.entries(schema.properties ?? {})
    .filter(([name]) => !present.has(name))
    .map(([label, field]) => ({
      ...{ label, insert: `${dash}${label}:${following(field, column + dash.length)}`, detail: typeOf(field) },
      ...{ description: field.description ?? "", isRequired: required.has(label) },
    }))
    .toSorted((a, b) => Number(b.isRequired) - Number(a.isRequired));
}

/** Text after the colon of a new field: a line below it for a mapping or a list. */
function following({ type, properties, items, additionalProperties }: FieldSchema, column: number): string {
  const below = `\n${" ".repeat(column + 2)}`;
  if (items !== undefined) return `${below}- `;
  const isMapping = properties !== undefined || typeof additionalProperties === "object" || type === "object";
  return isMapping ? below : " ";
}

function valuesOf(schema: FieldSchema): readonly Completion[] {
  const { description = "" } = schema;
  const isFlag = [schema.type].flat().includes("boolean");
  const values = schema.enum ?? (schema.const !== undefined ? [schema.const] : isFlag ? [true, false] : []);
  return values.map((value) => ({
    ...{ label: String(value), insert: written(value), description, isRequired: false },
    detail: value === schema.default ? "default" : "",
  }));
}

/** Texts that YAML would read as something else stand in quotes. */
function written(value: unknown): string {
  if (typeof value !== "string") return String(value);
  return /^[A-Za-z*][\w./*-]*$/.test(value) && !/^(?:true|false|null|\*.*)$/i.test(value)
    ? value
    : JSON.stringify(value);
}

const shownValues = 3;

function typeOf(schema: FieldSchema): string {
  if (schema.enum !== undefined) {
    const rest = schema.enum.length > shownValues ? " | …" : "";
    return `${schema.enum.slice(0, shownValues).join(" | ")}${rest}`;
  }
  if (schema.items !== undefined) return `list of ${typeOf(schema.items) || "values"}`;
  return [schema.type ?? ""]
    .flat()
    .filter((one) => one !== "null")
    .join(" or ");
}

const maxItems = 100;

/** Words that begin with what is typed come first. */
function fitting(all: readonly Completion[], word: string): readonly Completion[] {
  const typed = word.toLowerCase();
  const found = all.filter(({ label }) => label.toLowerCase().includes(typed));
  const isStart = ({ label }: Completion): number => Number(label.toLowerCase().startsWith(typed));
  return found.toSorted((a, b) => isStart(b) - isStart(a)).slice(0, maxItems);
}
