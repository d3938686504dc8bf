/** A text that holds one object, such as a MeshConfig, wherever it comes from. */
import { parseDocumentText, splitDocuments } from "./documents.ts";
import type { SourceProblem } from "./source.ts";

/** Findings refuse the document. */
export type DocumentCheck = (
  value: Readonly<Record<string, unknown>>,
) => readonly { readonly field: string; readonly reason: string }[];

export interface DocumentReading {
  /** Undefined when it is refused; an empty text is the empty document. */
  readonly value: Readonly<Record<string, unknown>> | undefined;
  readonly problems: readonly SourceProblem[];
}

/** `file` is what problems name. */
export function readDocument(file: string, text: string, check: DocumentCheck): DocumentReading {
  const parts = splitDocuments(text).map(({ body, line: start }) => ({ start, parsed: parseDocumentText(body) }));
  // Comments before the first marker are a part without content.
  const first = parts.find(({ parsed }) => !parsed.ok || parsed.value !== null);
  const { start = 1, parsed = { ok: true, value: {}, line: 1 } } = first ?? {};
  if (!parsed.ok) {
    const problems = parsed.problems.map(({ line, reason }) => ({ file, line: start + line - 1, reason }));
    return { value: undefined, problems };
  }
  const { value } = parsed;
  const line = start + parsed.line - 1;
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { value: undefined, problems: [{ file, line, reason: "is no object but a plain value or a list" }] };
  const document = value as Readonly<Record<string, unknown>>;
  const problems = check(document).map((finding) => ({ file, line, ...finding }));
  return { value: problems.length > 0 ? undefined : document, problems };
}
