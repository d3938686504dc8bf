/** The objects of a file: what each document is, or why it is refused. */
import { apiGroup, isObject, type KubeObject, maxNamespaceLength, ownValue, problemOfName } from "@flotilla/model";
import { TimeSlice } from "@flotilla/runtime";
import { type DocumentThread, type ParsedDocument, parseDocumentText, splitDocuments } from "./documents.ts";
import { type ForeignKind, foreignKind, type ObjectKey, type SourceProblem } from "./source.ts";

/** Properties of a kind for the reader of a source; undefined for kinds that are not supported. */
export interface KnownKind {
  readonly namespaced: boolean;
  /** False: known, but of no use here. */
  readonly wanted: boolean;
  /** Of no use to any reader of the source: such objects are counted by kind. */
  readonly isForeign?: boolean;
}

/** The kinds to read, and the check of their objects. */
export interface Admission {
  kindOf(apiVersion: string, kind: string): KnownKind | undefined;
  /** The reason why an unsupported kind is refused; absent: that it is not known. */
  unknownKind?(apiVersion: string, kind: string): string;
  /** Findings refuse the object. */
  check(object: KubeObject): readonly { readonly field: string; readonly reason: string }[];
  /** Called where there is time to wait, before `check` of the same object: a large one is looked at aside. Undefined where that is not needed. */
  prepare?(object: KubeObject): Promise<void> | undefined;
}

/** One document, accepted or refused; a refused one keeps what identifies the object it was meant to be. */
export interface ReadItem {
  readonly index: number;
  readonly line: number;
  readonly key?: ObjectKey;
  /** Absent: refused. */
  readonly object?: KubeObject;
  /** `namespace/name`, as far as the document has it. */
  readonly hint: string;
}

/** The objects of one file. */
export interface FileReading {
  /** Undefined: the file cannot be read. */
  readonly items: readonly ReadItem[] | undefined;
  /** The syntax of some documents is wrong: which objects they were meant to be is unknown. */
  readonly isPartial: boolean;
  readonly problems: readonly SourceProblem[];
  /** Objects of foreign kinds: how many of each, by `apiVersion kind`. */
  readonly ignored: ReadonlyMap<ForeignKind, number>;
  /** The results of each document's text, for the next reading of the file. */
  readonly documents: ReadonlyMap<string, DocumentReading>;
}

/** Lines count from 1 within the document. */
interface DocumentReading {
  readonly syntax: readonly { readonly line: number; readonly reason: string }[];
  readonly objects: readonly ObjectReading[];
  /** `apiVersion kind` of each object of a foreign kind. */
  readonly ignored: readonly ForeignKind[];
}
interface ObjectReading {
  readonly line: number;
  readonly key?: ObjectKey;
  readonly object?: KubeObject;
  readonly hint: string;
  readonly findings: readonly { readonly field?: string; readonly reason: string }[];
}

/** Documents whose text stands in `previous` are not looked at again: checks depend on nothing but the object. */
export function readObjects(
  file: string,
  text: string,
  admission: Admission,
  previous: FileReading["documents"] = new Map(),
): FileReading {
  const documents = new Map<string, DocumentReading>();
  const items: ReadItem[] = [];
  const problems: SourceProblem[] = [];
  let isPartial = false;
  const lines = new Map<string, number>();
  const ignored = new Map<ForeignKind, number>();
  for (const { body, line: start } of splitDocuments(text)) {
    const reading = previous.get(body) ?? readDocument(body, admission);
    documents.set(body, reading);
    for (const kind of reading.ignored) ignored.set(kind, (ignored.get(kind) ?? 0) + 1);
    if (reading.syntax.length > 0) isPartial = true;
    for (const { line, reason } of reading.syntax) problems.push({ file, line: start + line - 1, reason });
    for (const { findings, line: within, ...object } of reading.objects) {
      const item = { ...object, index: items.length, line: start + within - 1 };
      const text = item.key === undefined ? {} : { object: objectText(item.key) };
      const twin = item.key === undefined ? undefined : lines.get(objectKeyText(item.key));
      if (twin !== undefined) {
        problems.push({ file, line: item.line, ...text, reason: `is in line ${twin} of the file already` });
        continue;
      }
      if (item.key !== undefined) lines.set(objectKeyText(item.key), item.line);
      items.push(item);
      for (const finding of findings) problems.push({ file, line: item.line, ...text, ...finding });
    }
  }
  return { items, isPartial, problems, ignored, documents };
}

/**
 * Reads the documents of a text for `readObjects`, which takes them as `previous`: large ones in the thread, objects in slices of time.
 * Those whose text stands in `previous` are not looked at again.
 */
export async function readAhead(
  text: string,
  admission: Admission,
  thread: DocumentThread,
  previous: FileReading["documents"] = new Map(),
): Promise<FileReading["documents"]> {
  const documents = new Map<string, DocumentReading>();
  const timeSlice = new TimeSlice();
  for (const { body } of splitDocuments(text)) {
    const known = previous.get(body) ?? documents.get(body);
    if (known !== undefined) {
      documents.set(body, known);
      continue;
    }
    const parsed = await thread.parse(body);
    if (timeSlice.isDue) await timeSlice.yield();
    const parts: DocumentReading[] = [];
    for (const one of valuesOf(parsed)) {
      const read = readValue(one, admission);
      for (const { candidate } of read.objects) if (candidate !== undefined) await admission.prepare?.(candidate);
      parts.push(judged(read, admission));
      if (timeSlice.isDue) await timeSlice.yield();
    }
    documents.set(body, joined(parsed, parts));
  }
  return documents;
}

/** Objects of it that were in force stay. */
export function unreadableFile(file: string, reason: string): FileReading {
  const problems = [{ file, line: 0, reason }];
  return { items: undefined, isPartial: false, problems, ignored: new Map(), documents: new Map() };
}

function readDocument(body: string, admission: Admission): DocumentReading {
  const parsed = parseDocumentText(body);
  return joined(
    parsed,
    valuesOf(parsed).map((one) => judged(readValue(one, admission), admission)),
  );
}

interface PlacedValue {
  readonly value: unknown;
  readonly line: number;
}

/** `kind: List` stands for its items. */
function valuesOf(parsed: ParsedDocument): readonly PlacedValue[] {
  if (!parsed.ok) return [];
  const { value, line, itemLines = [] } = parsed;
  if (!isObject(value) || value["kind"] !== "List" || value["apiVersion"] !== "v1") return [{ value, line }];
  const items: readonly unknown[] = Array.isArray(value["items"]) ? value["items"] : [];
  return items.map((item, index) => ({ value: item, line: itemLines[index] ?? line }));
}

/** An object whose form is right is a candidate until it is checked. */
interface Unjudged extends Omit<DocumentReading, "objects"> {
  readonly objects: readonly (ObjectReading & { readonly candidate?: KubeObject })[];
}

function judged({ objects, ...read }: Unjudged, admission: Admission): DocumentReading {
  return {
    ...read,
    objects: objects.map(({ candidate, ...reading }) => {
      if (candidate === undefined) return reading;
      const findings = checked(candidate, admission);
      return { ...reading, findings, ...(findings.length === 0 ? { object: candidate } : {}) };
    }),
  };
}

function readValue({ value, line }: PlacedValue, admission: Admission): Unjudged {
  const ignored = foreignKindOf(value, admission);
  const objects = readObject(value, line, admission);
  return { syntax: [], objects, ignored: ignored === undefined ? [] : [ignored] };
}

function joined(parsed: ParsedDocument, parts: readonly DocumentReading[]): DocumentReading {
  return {
    syntax: parsed.ok ? [] : parsed.problems,
    objects: parts.flatMap(({ objects }) => objects),
    ignored: parts.flatMap(({ ignored }) => ignored),
  };
}

function foreignKindOf(value: unknown, admission: Admission): ForeignKind | undefined {
  if (!isObject(value)) return undefined;
  const { apiVersion, kind } = value;
  if (typeof apiVersion !== "string" || typeof kind !== "string") return undefined;
  return admission.kindOf(apiVersion, kind)?.isForeign === true ? foreignKind.write({ apiVersion, kind }) : undefined;
}

/** Nothing for an empty document and for kinds of no use here. */
function readObject(value: unknown, line: number, admission: Admission): Unjudged["objects"] {
  if (value === null || value === undefined) return [];
  const hint = hintOf(value);
  const refuse = (field: string, reason: string, key?: ObjectKey): readonly ObjectReading[] => [
    { line, hint, ...(key === undefined ? {} : { key }), findings: [{ ...(field === "" ? {} : { field }), reason }] },
  ];
  if (!isObject(value)) return refuse("", "is no object but a plain value or a list");
  const { apiVersion, kind, metadata } = value;
  if (typeof apiVersion !== "string" || apiVersion === "") return refuse("apiVersion", "is missing");
  if (typeof kind !== "string" || kind === "") return refuse("kind", "is missing");
  const known = admission.kindOf(apiVersion, kind);
  if (known === undefined) {
    const reason = admission.unknownKind?.(apiVersion, kind);
    return refuse("kind", reason ?? `${apiVersion} ${kind} is no kind that is known here`);
  }
  if (!known.wanted) return [];
  if (!isObject(metadata)) return refuse("metadata", "is missing");
  const { name, namespace = "" } = metadata;
  if (name === undefined || name === null || name === "") return refuse("metadata.name", "is missing");
  if (typeof name !== "string") return refuse("metadata.name", "is no text; put it in quotes");
  if (typeof namespace !== "string") return refuse("metadata.namespace", "is no text; put it in quotes");
  const wrongName = problemOfName(name);
  if (wrongName !== undefined) return refuse("metadata.name", wrongName);
  const wrongNamespace = namespace === "" ? undefined : problemOfName(namespace, maxNamespaceLength);
  if (wrongNamespace !== undefined) return refuse("metadata.namespace", wrongNamespace);
  // As kubectl has it: an object that names no namespace is meant for the default one.
  const own = known.namespaced ? namespace || "default" : "";
  const key: ObjectKey = { group: apiGroup(apiVersion), kind, namespace: own, name };
  const wrong = ["labels", "annotations"].find((field) => !isTextMap(ownValue(metadata, field)));
  if (wrong !== undefined) return refuse(`metadata.${wrong}`, "has a value that is no text; put it in quotes", key);
  return [{ line, key, hint, findings: [], candidate: normalized(value as unknown as KubeObject, own) }];
}

/** A check that fails on an object no rule foresaw refuses that object alone. */
function checked(
  object: KubeObject,
  admission: Admission,
): readonly { readonly field: string; readonly reason: string }[] {
  try {
    return admission.check(object);
  } catch (error) {
    return [{ field: "", reason: `cannot be checked: ${error instanceof Error ? error.message : String(error)}` }];
  }
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
  const metadata = isObject(value) && isObject(value["metadata"]) ? value["metadata"] : {};
  const text = (part: unknown, absent: string) => (typeof part === "string" ? part : absent);
  return `${text(metadata["namespace"], "default")}/${text(metadata["name"], "")}`;
}

function isTextMap(value: unknown): boolean {
  if (value === null || value === undefined) return true;
  return isObject(value) && Object.values(value).every((text) => typeof text === "string");
}

/** The key as text, unique among kinds and namespaces. */
export function objectKeyText({ group, kind, namespace, name }: ObjectKey): string {
  return `${group}/${kind}/${namespace}/${name}`;
}

/** `Kind/namespace/name`, as problems name an object. */
export function objectText({ kind, namespace, name }: ObjectKey): string {
  return `${kind}/${namespace}/${name}`;
}
