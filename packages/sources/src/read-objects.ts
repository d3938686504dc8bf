/** The objects of a file: what each document is, or why it is refused. */
import { apiGroup, type KubeObject } from "@flotilla/model";
import { parseText, type SourceDocument } from "./documents.ts";
import { type ObjectKey, objectText, type SourceProblem } from "./source.ts";

/** What the reader of a source knows of a kind; undefined for kinds that nobody knows. */
export interface KnownKind {
  readonly namespaced: boolean;
  /** False: known, but of no use here. */
  readonly wanted: boolean;
}

export interface Admission {
  kindOf(apiVersion: string, kind: string): KnownKind | undefined;
  /** Findings refuse the object. */
  check(object: KubeObject): readonly { readonly field: string; readonly reason: string }[];
}

/** One document, accepted or refused; a refused one keeps what tells which object it was meant to be. */
export interface ReadItem {
  readonly index: number;
  readonly line: number;
  readonly key?: ObjectKey;
  /** Absent: refused. */
  readonly object?: KubeObject;
  /** `namespace/name`, as far as the document says it. */
  readonly hint: string;
}

export interface FileReading {
  /** Undefined: the file's syntax is wrong, nothing in it can be told. */
  readonly items: readonly ReadItem[] | undefined;
  readonly problems: readonly SourceProblem[];
}

export function readObjects(file: string, text: string, admission: Admission): FileReading {
  const parsed = parseText(text);
  if (!parsed.ok) return { items: undefined, problems: parsed.problems.map((problem) => ({ file, ...problem })) };
  const items: ReadItem[] = [];
  const problems: SourceProblem[] = [];
  const seen = new Map<string, number>();
  for (const document of parsed.documents.flatMap(expandList)) {
    const { item, findings } = readDocument(document, admission);
    if (item === undefined) continue;
    const object = item.key === undefined ? undefined : objectText(item.key);
    const text = object === undefined ? undefined : `${item.key?.group}/${object}`;
    const twin = text === undefined ? undefined : seen.get(text);
    if (twin !== undefined) {
      problems.push({
        file,
        line: item.line,
        ...(object === undefined ? {} : { object }),
        reason: `is in line ${twin} of the file already`,
      });
      continue;
    }
    if (text !== undefined) seen.set(text, item.line);
    items.push(item);
    for (const finding of findings) {
      problems.push({ file, line: item.line, ...(object === undefined ? {} : { object }), ...finding });
    }
  }
  return { items, problems };
}

type Finding = { readonly field?: string; readonly reason: string };
type Outcome = { readonly item?: ReadItem; readonly findings: readonly Finding[] };

function readDocument({ value, index, line }: SourceDocument, admission: Admission): Outcome {
  if (value === null || value === undefined) return { findings: [] };
  const hint = hintOf(value);
  const refuse = (field: string, reason: string): Outcome => ({
    item: { index, line, hint },
    findings: [{ ...(field === "" ? {} : { field }), reason }],
  });
  if (!isRecord(value)) return refuse("", "is no object but a plain value or a list");
  const { apiVersion, kind, metadata } = value;
  if (typeof apiVersion !== "string" || apiVersion === "") return refuse("apiVersion", "is missing");
  if (typeof kind !== "string" || kind === "") return refuse("kind", "is missing");
  const known = admission.kindOf(apiVersion, kind);
  if (known === undefined) return refuse("kind", `${apiVersion} ${kind} is no kind that is known here`);
  if (!known.wanted) return { findings: [] };
  if (!isRecord(metadata)) return refuse("metadata", "is missing");
  const { name, namespace = "" } = metadata;
  if (typeof name !== "string" || name === "") return refuse("metadata.name", "is missing");
  if (typeof namespace !== "string") return refuse("metadata.namespace", "is no text");
  // As kubectl has it: an object that names no namespace is meant for the default one.
  const own = known.namespaced ? namespace || "default" : "";
  const key: ObjectKey = { group: apiGroup(apiVersion), kind, namespace: own, name };
  const wrongMap = ["labels", "annotations"].find((field) => !isTextMap(metadata[field]));
  if (wrongMap !== undefined) {
    return {
      item: { index, line, key, hint },
      findings: [{ field: `metadata.${wrongMap}`, reason: "has a value that is no text; put it in quotes" }],
    };
  }
  const object = normalized(value as unknown as KubeObject, own);
  const findings = admission.check(object);
  return { item: { index, line, key, hint, ...(findings.length === 0 ? { object } : {}) }, findings };
}

/** `kind: List` stands for its items. */
function expandList(document: SourceDocument): readonly SourceDocument[] {
  const { value } = document;
  if (!isRecord(value) || value["kind"] !== "List" || value["apiVersion"] !== "v1") return [document];
  const items: readonly unknown[] = Array.isArray(value["items"]) ? value["items"] : [];
  return items.map((item) => ({ ...document, value: item }));
}

/** Absent maps stay absent, null ones too: YAML's `labels:` without a value. */
function normalized(object: KubeObject, namespace: string): KubeObject {
  const { labels, annotations, namespace: _, ...rest } = object.metadata;
  return {
    ...object,
    metadata: {
      ...rest,
      ...(namespace === "" ? {} : { namespace }),
      ...(labels == null ? {} : { labels }),
      ...(annotations == null ? {} : { annotations }),
    },
  };
}

function hintOf(value: unknown): string {
  const metadata = isRecord(value) && isRecord(value["metadata"]) ? value["metadata"] : {};
  return `${String(metadata["namespace"] ?? "default")}/${String(metadata["name"] ?? "")}`;
}

function isTextMap(value: unknown): boolean {
  if (value === null || value === undefined) return true;
  return isRecord(value) && Object.values(value).every((text) => typeof text === "string");
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
