/** One YAML document in a file of its own, such as a MeshConfig; a wrong text keeps the last good value. */
import { equalJson } from "@flotilla/model";
import { DocumentThread, type ParsedDocument, parseDocumentText, splitDocuments } from "./documents.ts";
import { FileWatcher } from "./file-watcher.ts";
import type { SourceProblem } from "./source.ts";

/** The file and its check. */
export interface DocumentSourceOptions {
  readonly path: string;
  /** Called after each look that may have changed `problems()`. */
  readonly onProblems?: () => void;
  /** Findings refuse the document. */
  readonly check: DocumentCheck;
}

/** A valid version of the document, and when it changed, in milliseconds since 1970. */
export interface DocumentVersion {
  /** Empty when the file is absent or empty. */
  readonly value: Readonly<Record<string, unknown>>;
  readonly eventTimeMs: number;
}

/** Yields each valid version of one document. */
export interface DocumentSource extends AsyncDisposable {
  /** The first good version comes first, even if it is the empty document. */
  versions(stop: AbortSignal): AsyncIterable<DocumentVersion>;
  problems(): readonly SourceProblem[];
}

/** Follows the document in a file. */
export function documentSource(options: DocumentSourceOptions): DocumentSource {
  return new WatchedDocument(options);
}

class WatchedDocument implements DocumentSource {
  readonly #options: DocumentSourceOptions;
  readonly #watcher: FileWatcher;
  #trouble: string | undefined;
  #problems: readonly SourceProblem[] = [];
  /** Its documents by their text. */
  #parsed: ReadonlyMap<string, ParsedDocument> = new Map();

  constructor(options: DocumentSourceOptions) {
    this.#options = options;
    this.#watcher = new FileWatcher({
      root: options.path,
      prepare: async (texts) => {
        this.#parsed = await parseAhead([...texts.values()].filter((text) => typeof text === "string"));
      },
      doubtful: (_, text) => typeof text !== "string" || text.trim() === "" || this.#read(text) === undefined,
      onTrouble: (reason) => {
        const changed = this.#trouble !== reason;
        this.#trouble = reason;
        if (changed) this.#options.onProblems?.();
      },
    });
  }

  async *versions(stop: AbortSignal): AsyncGenerator<DocumentVersion, void, undefined> {
    let last: Readonly<Record<string, unknown>> | undefined;
    for await (const { texts, eventTimeMs } of this.#watcher.batches(stop)) {
      const [text] = texts.values();
      // A file that is gone changes nothing: the last version stays, the watcher reports the trouble.
      if (text instanceof Error) this.#problems = [{ file: this.#options.path, line: 0, reason: text.message }];
      if (typeof text !== "string") continue;
      const value = this.#read(text);
      this.#options.onProblems?.();
      if (value === undefined || (last !== undefined && equalJson(last, value))) continue;
      last = value;
      yield { value, eventTimeMs };
    }
  }

  problems(): readonly SourceProblem[] {
    const file = this.#options.path;
    return this.#trouble === undefined ? this.#problems : [{ file, line: 0, reason: this.#trouble }, ...this.#problems];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#watcher[Symbol.asyncDispose]();
  }

  /** Undefined when it is refused; `problems` reports why. */
  #read(text: string): Readonly<Record<string, unknown>> | undefined {
    const { path, check } = this.#options;
    const { value, problems } = readDocument(path, text, check, this.#parsed);
    this.#problems = problems;
    return value;
  }
}

/** Findings refuse the document. */
export type DocumentCheck = (
  value: Readonly<Record<string, unknown>>,
) => readonly { readonly field: string; readonly reason: string }[];

/** The document of a text, or why it is refused. */
export interface DocumentReading {
  /** Undefined when it is refused; an empty text is the empty document. */
  readonly value: Readonly<Record<string, unknown>> | undefined;
  readonly problems: readonly SourceProblem[];
}

/** A text that holds one object, such as a MeshConfig, wherever it comes from. `file` is what problems name. */
function readDocument(
  file: string,
  text: string,
  check: DocumentCheck,
  known: ReadonlyMap<string, ParsedDocument> = new Map(),
): DocumentReading {
  const parts = splitDocuments(text).map(({ body, line: start }) => ({
    start,
    parsed: known.get(body) ?? parseDocumentText(body),
  }));
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

/** As `readDocument`; large texts are parsed in a thread. */
export async function readDocumentAside(file: string, text: string, check: DocumentCheck): Promise<DocumentReading> {
  return readDocument(file, text, check, await parseAhead([text]));
}

async function parseAhead(texts: readonly string[]): Promise<ReadonlyMap<string, ParsedDocument>> {
  await using thread = new DocumentThread();
  const parsed = new Map<string, ParsedDocument>();
  for (const text of texts) for (const { body } of splitDocuments(text)) parsed.set(body, await thread.parse(body));
  return parsed;
}
