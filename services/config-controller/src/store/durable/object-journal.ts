/**
 * The copy that a replica keeps in its work directory of the objects written over the API: a replica that starts after the bus came back
 * with less than it acknowledged finds the missing objects, and writes them again. The first line is everything as of one version, each
 * later line the next transaction; a line that was cut off ends the file.
 */
import { hash } from "node:crypto";
import { mkdir, open, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { replaceFile } from "@flotilla/auth";
import type { Seal } from "@flotilla/bus";
import type { Logger } from "@flotilla/runtime";
import { decodeTransaction, encodeTransaction, type Transaction } from "./transaction.ts";

export interface ObjectJournalOptions {
  readonly file: string;
  /** Secrets rest sealed, as on the bus. */
  readonly seal: Seal | undefined;
  readonly log: Logger;
}

/** Lines after which the whole is written anew, unless it has more objects. */
const leastLines = 200;

export class ObjectJournal {
  readonly #options: ObjectJournalOptions;
  #lines = 0;
  /** The file's content differs from the state held: it is written anew with the next transaction. */
  #isBroken = true;

  constructor(options: ObjectJournalOptions) {
    this.#options = options;
  }

  /** In order, the first one as if everything had been written at once; empty where nothing can be read. */
  async read(): Promise<readonly Transaction[]> {
    const { file, seal, log } = this.#options;
    const text = await readFile(file, "utf8").catch((error: { readonly code?: unknown }) => {
      if (error.code !== "ENOENT") log.error("copy of objects written over the api unreadable", { file, error });
      return "";
    });
    const found: Transaction[] = [];
    for (const line of text.split("\n")) {
      const bytes = contentOf(line);
      if (bytes === undefined) break;
      found.push(decodeTransaction(bytes, seal));
    }
    this.#lines = found.length;
    return found;
  }

  /** The next transaction. `whole`: everything as of it, where the file is to be written anew. */
  async append(transaction: Transaction, whole: () => Transaction): Promise<void> {
    const state = this.#isBroken || this.#lines >= leastLines ? whole() : undefined;
    const isLong = state !== undefined && this.#lines > state.puts.length;
    if (state !== undefined && (this.#isBroken || isLong)) return this.replace(state);
    await this.#attempt(async () => {
      const handle = await open(this.#options.file, "a", 0o600);
      try {
        await handle.appendFile(lineOf(encodeTransaction(transaction, this.#options.seal)));
        await handle.datasync();
      } finally {
        await handle.close();
      }
      this.#lines++;
    });
  }

  async replace(whole: Transaction): Promise<void> {
    const { file, seal } = this.#options;
    await this.#attempt(async () => {
      await mkdir(dirname(file), { recursive: true, mode: 0o700 });
      await replaceFile(file, lineOf(encodeTransaction(whole, seal)), 0o600);
      [this.#lines, this.#isBroken] = [1, false];
    });
  }

  /** The bus has it: a failure of the disk is no reason to refuse a write. */
  async #attempt(write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      const { file, log } = this.#options;
      log.error("objects written over the api not saved to disk", { file, error });
      this.#isBroken = true;
    }
  }
}

function lineOf(bytes: Uint8Array): string {
  const text = Buffer.from(bytes).toString("base64");
  return `${digestOf(text)} ${text}\n`;
}

/** Undefined for a line that is not as it was written. */
function contentOf(line: string): Uint8Array | undefined {
  const [digest, text = ""] = line.split(" ", 2);
  return text !== "" && digest === digestOf(text) ? Buffer.from(text, "base64") : undefined;
}

function digestOf(text: string): string {
  return hash("sha256", text).slice(0, 32);
}
