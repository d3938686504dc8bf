/** A file's text as documents with the lines they begin at. YAML of several documents, or JSON. */
import { LineCounter, parseDocument } from "yaml";

export interface SourceDocument {
  readonly value: unknown;
  /** Position in the file; an empty document has none. */
  readonly index: number;
  /** Counted from 1. */
  readonly line: number;
}

export interface SyntaxProblem {
  readonly line: number;
  readonly reason: string;
}

export type ParsedText =
  | { readonly ok: true; readonly documents: readonly SourceDocument[] }
  | { readonly ok: false; readonly problems: readonly SyntaxProblem[] };

export function parseText(text: string): ParsedText {
  const json = parseJson(text);
  if (json !== undefined) return { ok: true, documents: [{ value: json, index: 0, line: 1 }] };
  const documents: SourceDocument[] = [];
  const problems: SyntaxProblem[] = [];
  for (const { body, line } of splitDocuments(text)) {
    const lineCounter = new LineCounter();
    // Merge keys are not of YAML 1.2, but configuration in the field uses them.
    const document = parseDocument(body, { lineCounter, merge: true });
    for (const { message, pos } of document.errors) {
      problems.push({ line: line + lineCounter.linePos(pos[0]).line - 1, reason: firstLine(message) });
    }
    const value: unknown = document.errors.length > 0 ? null : document.toJS();
    if (value === null) continue;
    const [start = 0] = document.contents?.range ?? [];
    documents.push({ value, index: documents.length, line: line + lineCounter.linePos(start).line - 1 });
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, documents };
}

/** Generated files are JSON, which the runtime reads a hundred times faster than a YAML parser does. */
function parseJson(text: string): unknown {
  if (!/^\s*[{[]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    // A YAML flow mapping may begin like JSON.
    return undefined;
  }
}

/** Each document is parsed alone: the lines of an error then stay right, and the parser stays fast. */
function splitDocuments(text: string): readonly { readonly body: string; readonly line: number }[] {
  const parts: { body: string; line: number }[] = [];
  let [start, line, startLine] = [0, 1, 1];
  for (let position = 0; position < text.length; line += 1) {
    const newline = text.indexOf("\n", position);
    const end = newline === -1 ? text.length : newline + 1;
    if (text.startsWith("---", position) && /^\s*$|^\s+/.test(text.slice(position + 3, end)) && position > start) {
      parts.push({ body: text.slice(start, position), line: startLine });
      [start, startLine] = [position, line];
    }
    position = end;
  }
  parts.push({ body: text.slice(start), line: startLine });
  return parts;
}

/** The parser's messages go on with a picture of the place. */
function firstLine(message: string): string {
  return (message.split("\n", 1)[0] ?? message).replace(/ at line \d+, column \d+:?$/, "");
}
