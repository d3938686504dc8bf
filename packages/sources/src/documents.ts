/**
 * A file's text as documents with the lines they begin at. YAML of several documents, or JSON. Large YAML documents are parsed by a thread
 * that the first of them starts: the parser takes 1 to 10 µs a byte in one step, which would hold everything else up.
 */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import {
  type Document,
  isAlias,
  isCollection,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  visit,
} from "yaml";

/** One document's text; `line` is where it begins in the file, counted from 1. */
export interface DocumentText {
  readonly body: string;
  readonly line: number;
}

/** Lines count from 1 within the document's text. */
export type ParsedDocument =
  | {
      readonly ok: true;
      readonly value: unknown;
      readonly line: number;
      /** Of the items of a List. */
      readonly itemLines?: readonly number[];
    }
  | { readonly ok: false; readonly problems: readonly { readonly line: number; readonly reason: string }[] };

/** `value` is null for a document without content. */
export function parseDocumentText(body: string): ParsedDocument {
  const json = parseJson(body);
  if (json !== undefined) return { ok: true, value: json, line: 1 };
  try {
    return parseYaml(body);
  } catch (error) {
    // The parser calls itself for each level.
    if (!(error instanceof RangeError)) throw error;
    return { ok: false, problems: [{ line: 1, reason: "it has too many levels" }] };
  }
}

function parseYaml(body: string): ParsedDocument {
  const lineCounter = new LineCounter();
  // Merge keys are not of YAML 1.2, but configuration in the field uses them. The parser's own check for keys that are there twice
  // compares each with all others of its mapping: 50,000 keys take minutes. A picture of each error's place would be cut off below.
  const options = { merge: true, uniqueKeys: false, prettyErrors: false, logLevel: "error" } as const;
  const document = parseDocument(body, { ...options, lineCounter });
  const lineAt = (offset: number): number => lineCounter.linePos(offset).line;
  const errors = [
    ...document.errors.map(({ message, pos }) => ({ offset: pos[0], reason: firstLine(message) })),
    ...wrongKeys(document),
  ];
  if (errors.length > 0)
    return { ok: false, problems: errors.map(({ offset, reason }) => ({ line: lineAt(offset), reason })) };
  const [start = 0] = document.contents?.range ?? [];
  try {
    return { ok: true, value: document.toJS(), line: lineAt(start), ...itemLinesOf(document, lineAt) };
  } catch (error) {
    // Aliases are resolved here: one without an anchor, or too many.
    return { ok: false, problems: [aliasProblem(document, error, lineAt)] };
  }
}

function itemLinesOf(
  { contents }: Document,
  lineAt: (offset: number) => number,
): { readonly itemLines?: readonly number[] } {
  if (!isMap(contents) || contents.get("kind") !== "List") return {};
  const items = contents.get("items", true);
  if (!isSeq(items)) return {};
  return { itemLines: items.items.map((item) => lineAt((isNode(item) ? item.range?.[0] : undefined) ?? 0)) };
}

interface KeyProblem {
  /** In the document's text. */
  readonly offset: number;
  readonly reason: string;
}

/**
 * Keys that a mapping has for the second time, and those that are lists or mappings: no object of an API has one, and as a text of a text of a
 * text, which JavaScript would make of it, one of 400 levels takes 12 s.
 */
export function wrongKeys(document: Document): readonly KeyProblem[] {
  const found: KeyProblem[] = [];
  // The parser's own way from an alias to its anchor reads the whole document.
  const anchors = new Map<string, Node>();
  visit(document, {
    Value: (_, node) => {
      if (node.anchor !== undefined) anchors.set(node.anchor, node);
    },
  });
  visit(document, {
    Map: (_, { items }) => {
      const known = new Set<unknown>();
      for (const { key } of items) {
        const of = isAlias(key) ? anchors.get(key.source) : key;
        if (isScalar(of)) {
          if (known.has(of.value) && of.value !== "<<") found.push(problemAt(key, "Map keys must be unique"));
          known.add(of.value);
        } else if (isCollection(of)) {
          found.push(problemAt(key, "a key must be a text, neither a list nor a mapping"));
          return visit.BREAK;
        }
      }
      return undefined;
    },
  });
  return found;
}

function problemAt(key: unknown, reason: string): KeyProblem {
  return { offset: (isNode(key) ? key.range?.[0] : undefined) ?? 0, reason };
}

function aliasProblem(
  document: Document,
  error: unknown,
  lineAt: (offset: number) => number,
): { readonly line: number; readonly reason: string } {
  let offset = 0;
  const anchors = new Set<string>();
  visit(document, {
    Value: (_, { anchor }) => {
      if (anchor !== undefined) anchors.add(anchor);
    },
    Alias: (_, alias) => {
      if (anchors.has(alias.source)) return undefined;
      offset = alias.range?.[0] ?? 0;
      return visit.BREAK;
    },
  });
  const reason = firstLine(error instanceof Error ? error.message : String(error));
  const hint = /^Unresolved alias/.test(reason) ? "; a value that begins with * needs quotes" : "";
  return { line: lineAt(offset), reason: `${reason}${hint}` };
}

/** Each document is parsed alone: an error's line then stays right, and one that did not change need not be parsed again. */
export function splitDocuments(text: string): readonly DocumentText[] {
  if (!text.includes("\n---")) return [{ body: text, line: 1 }];
  const parts: DocumentText[] = [];
  let [start, line, startLine] = [0, 1, 1];
  for (let position = 0; position < text.length; line += 1) {
    const newline = text.indexOf("\n", position);
    const end = newline === -1 ? text.length : newline + 1;
    if (position > start && text.startsWith("---", position) && /^(\s|$)/.test(text.slice(position + 3, end))) {
      parts.push({ body: text.slice(start, position), line: startLine });
      [start, startLine] = [position, line];
    }
    position = end;
  }
  parts.push({ body: text.slice(start), line: startLine });
  return parts;
}

/** Generated files are JSON, which the runtime reads a hundred times faster than a YAML parser does. Undefined: it is none. */
function parseJson(text: string): unknown {
  if (!/^\s*[{[]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    // A YAML flow mapping may begin like JSON.
    return undefined;
  }
}

/** Messages may repeat lines of the text. */
function firstLine(message: string): string {
  return message.split("\n", 1)[0] ?? message;
}

/** Longer ones are parsed aside; of such a one the parser takes less than 100 ms. */
const inlineLength = 8_192;

export class DocumentThread implements AsyncDisposable {
  #worker: Worker | undefined;

  /** One at a time. */
  async parse(body: string): Promise<ParsedDocument> {
    if (body.length <= inlineLength) return parseDocumentText(body);
    const json = parseJson(body);
    if (json !== undefined) return { ok: true, value: json, line: 1 };
    const options = { name: "yaml", env: {}, execArgv: [] };
    this.#worker ??= new Worker(new URL("../bin/yaml-thread.ts", import.meta.url), options);
    this.#worker.postMessage(body);
    // `once` rejects where the thread ends with an error, such as too little memory for a document.
    const [parsed] = (await once(this.#worker, "message").catch(async (error: unknown) => {
      await this[Symbol.asyncDispose]();
      const reason = `cannot be parsed: ${error instanceof Error ? error.message : String(error)}`;
      return [{ ok: false, problems: [{ line: 1, reason }] }];
    })) as readonly [ParsedDocument];
    return parsed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }
}

/** One document, aside if it is large. */
export async function parseDocumentAside(body: string): Promise<ParsedDocument> {
  await using thread = new DocumentThread();
  return await thread.parse(body);
}
