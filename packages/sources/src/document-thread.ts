/**
 * A thread that parses large YAML documents: the parser takes 1 to 10 µs a byte in one step, which would hold everything else up. It is
 * started by the first document that needs it.
 */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { type ParsedDocument, parseDocumentText, parseJson } from "./documents.ts";

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
