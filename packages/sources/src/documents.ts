/** A file's text as documents with the lines they begin at. YAML of several documents, or JSON. */
import { LineCounter, parseDocument } from "yaml";

/** One document's text; `line` is where it begins in the file, counted from 1. */
export interface DocumentText {
  readonly body: string;
  readonly line: number;
}

/** Lines count from 1 within the document's text. */
export type ParsedDocument =
  | { readonly ok: true; readonly value: unknown; readonly line: number }
  | { readonly ok: false; readonly problems: readonly { readonly line: number; readonly reason: string }[] };

/** `value` is null for a document without content. */
export function parseDocumentText(body: string): ParsedDocument {
  const json = parseJson(body);
  if (json !== undefined) return { ok: true, value: json, line: 1 };
  const lineCounter = new LineCounter();
  // Merge keys are not of YAML 1.2, but configuration in the field uses them.
  const document = parseDocument(body, { lineCounter, merge: true });
  if (document.errors.length > 0) {
    const problems = document.errors.map(({ message, pos }) => ({
      line: lineCounter.linePos(pos[0]).line,
      reason: firstLine(message),
    }));
    return { ok: false, problems };
  }
  const [start = 0] = document.contents?.range ?? [];
  return { ok: true, value: document.toJS(), line: lineCounter.linePos(start).line };
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

/** The parser's messages go on with a picture of the place. */
function firstLine(message: string): string {
  return (message.split("\n", 1)[0] ?? message).replace(/ at line \d+, column \d+:?$/, "");
}
