/**
 * The copy on disk of the certificates that were issued, so that a ca that starts after the bus lost its records still waits for their
 * holders. One line for each certificate, written when it is issued, and since when they are complete; certificates that have ended go when
 * the file is written anew. Replicas that share a work directory append to one file.
 */
import { appendFile, mkdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { replaceFile } from "@flotilla/auth";
import { number, objectOf, parseShape } from "@flotilla/model";
import type { Logger } from "@flotilla/runtime";
import { type Holding, type Ledger, parseHoldings } from "./ledger.ts";

export interface LedgerJournalOptions {
  readonly file: string;
  readonly nowMs: () => number;
  readonly log: Logger;
}

/** Lines after which the file is written anew, unless that many certificates are alive. */
const leastLines = 1_000;
const sinceShape = objectOf({ recordedSinceMs: number });

export class LedgerJournal {
  readonly #options: LedgerJournalOptions;
  readonly #ledger: Ledger;
  #pending: string[] = [];
  #writing: Promise<void> | undefined;
  #lines = 0;
  #recordedSinceMs: number | undefined;

  constructor(ledger: Ledger, options: LedgerJournalOptions) {
    this.#ledger = ledger;
    this.#options = options;
  }

  /** Certificates from before are not recorded, 0: all are; undefined where no file was found. */
  get recordedSinceMs(): number | undefined {
    return this.#recordedSinceMs;
  }

  /** Puts what the file has into the ledger. */
  async restore(): Promise<void> {
    const { file, log } = this.#options;
    const text = await readFile(file, "utf8").catch((error: { readonly code?: unknown }) => {
      if (error.code !== "ENOENT") log.error("copy of issued certificates unreadable", { file, error });
      return "";
    });
    let unread = 0;
    for (const line of text.split("\n")) if (line !== "" && !this.#take(line)) unread++;
    this.#lines = text.split("\n").length - 1;
    // The last line is cut off where power failed.
    if (unread > 0) log.warn("unreadable lines in the copy of issued certificates", { file, lines: unread });
    // A new line begins behind a cut-off one.
    if (text !== "" && !text.endsWith("\n")) this.#write("");
  }

  record(holding: Holding): void {
    this.#write(JSON.stringify([holding]));
  }

  recordSince(recordedSinceMs: number): void {
    if (this.#recordedSinceMs === recordedSinceMs) return;
    this.#recordedSinceMs = recordedSinceMs;
    this.#write(JSON.stringify({ recordedSinceMs }));
  }

  /** Resolves when everything is written. */
  async flushed(): Promise<void> {
    await this.#writing;
  }

  #take(line: string): boolean {
    try {
      if (line.startsWith("[")) this.#ledger.restore(parseHoldings(line));
      else this.#recordedSinceMs = parseShape<{ recordedSinceMs: number }>(line, sinceShape).recordedSinceMs;
      return true;
    } catch {
      return false;
    }
  }

  #write(line: string): void {
    this.#pending.push(line);
    this.#writing ??= this.#drain();
  }

  async #drain(): Promise<void> {
    const { file, log, nowMs } = this.#options;
    while (this.#pending.length > 0) {
      const lines = this.#pending;
      this.#pending = [];
      try {
        const holdings = this.#lines > leastLines ? this.#ledger.holdings(nowMs()) : undefined;
        if (holdings !== undefined && this.#lines > 2 * holdings.length) await this.#replace(holdings);
        else {
          if (this.#lines === 0) await mkdir(dirname(file), { recursive: true, mode: 0o700 });
          await appendFile(file, `${lines.join("\n")}\n`, { mode: 0o600 });
          this.#lines += lines.length;
        }
      } catch (error) {
        // The bus has them within a second; the copy is for the day when it has not.
        log.error("issued certificates not saved to disk", { file, certificates: lines.length, error });
      }
    }
    this.#writing = undefined;
  }

  async #replace(holdings: readonly Holding[]): Promise<void> {
    const lines = holdings.map((holding) => JSON.stringify([holding]));
    if (this.#recordedSinceMs !== undefined) lines.unshift(JSON.stringify({ recordedSinceMs: this.#recordedSinceMs }));
    await replaceFile(this.#options.file, `${lines.join("\n")}\n`, 0o600);
    this.#lines = lines.length;
  }
}
