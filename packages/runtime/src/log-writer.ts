/**
 * Writes log lines without ever blocking: a full disk or a reader that stands still costs log lines, not the service. Lines that find no room are dropped and counted; the count is logged when writing goes on.
 */
import { write, writeSync } from "node:fs";

/** Bounds of the lines that wait to be written. */
export interface LogWriterOptions {
  /** Lines that wait may have so many bytes together. */
  readonly maxBytes?: number;
  /** After a write that failed. */
  readonly retryMs?: number;
  /** `fs.write` unless given. */
  readonly write?: (bytes: Uint8Array, done: (error: NodeJS.ErrnoException | null, written: number) => void) => void;
  /** `fs.writeSync` unless given; for what waits when the process ends. */
  readonly writeSync?: (bytes: Uint8Array) => number;
  readonly nowMs?: () => number;
}

const maxBatchBytes = 65_536;
const maxWaitingBytes = 4 * 1024 * 1024;
/** A pipe whose reader is behind. */
const busyMs = 10;

/** A destination of log lines that never blocks its callers. */
export class LogWriter {
  readonly #write: NonNullable<LogWriterOptions["write"]>;
  readonly #writeSync: NonNullable<LogWriterOptions["writeSync"]>;
  readonly #maxBytes: number;
  readonly #retryMs: number;
  readonly #nowMs: () => number;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #isWriting = false;
  #dropped = 0;

  constructor(fd: number, options: LogWriterOptions = {}) {
    this.#write = options.write ?? ((bytes, done) => write(fd, bytes, done));
    this.#writeSync = options.writeSync ?? ((bytes) => writeSync(fd, bytes));
    this.#maxBytes = options.maxBytes ?? maxWaitingBytes;
    this.#retryMs = options.retryMs ?? 500;
    this.#nowMs = options.nowMs ?? Date.now;
  }

  /** Lines that were dropped and not yet reported. */
  get dropped(): number {
    return this.#dropped;
  }

  /** One line, its newline included. */
  write(line: string): void {
    const bytes = Buffer.from(line);
    if (this.#waitingBytes + bytes.length > this.#maxBytes) {
      this.#dropped++;
      return;
    }
    this.#add(bytes);
    this.#next();
  }

  /** When the process ends: waiting lines are written as far as they are read within a fifth of a second. */
  flushSync(): void {
    let attempts = 20;
    for (let batch = this.#take(); batch.length > 0; batch = batch.length > 0 ? batch : this.#take()) {
      try {
        batch = batch.subarray(this.#writeSync(batch));
      } catch (error) {
        // The line has no reader, and there is no place left to report that.
        if (!isBusy(error) || --attempts === 0) return;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, busyMs);
      }
    }
  }

  #add(line: Buffer): void {
    this.#waiting.push(line);
    this.#waitingBytes += line.length;
  }

  #next(): void {
    if (this.#isWriting || this.#waiting.length === 0) return;
    this.#isWriting = true;
    this.#send(this.#take());
  }

  #send(batch: Buffer): void {
    this.#write(batch, (error, written) => {
      const rest = error === null ? batch.subarray(written) : batch;
      if (rest.length > 0) {
        this.#putBack(rest);
        const againMs = error === null || isBusy(error) ? busyMs : this.#retryMs;
        setTimeout(() => this.#resume(), againMs).unref();
        return;
      }
      if (this.#dropped > 0) this.#reportDropped();
      this.#resume();
    });
  }

  #resume(): void {
    this.#isWriting = false;
    this.#next();
  }

  /** Whole lines, as many as one write takes; at least one. */
  #take(): Buffer {
    let [count, bytes] = [0, 0];
    for (const line of this.#waiting) {
      if (count > 0 && bytes + line.length > maxBatchBytes) break;
      bytes += line.length;
      count++;
    }
    this.#waitingBytes -= bytes;
    return Buffer.concat(this.#waiting.splice(0, count));
  }

  #putBack(rest: Buffer): void {
    this.#waiting.unshift(rest);
    this.#waitingBytes += rest.length;
  }

  #reportDropped(): void {
    const time = new Date(this.#nowMs()).toISOString();
    const event = {
      level: "warn",
      time,
      lines: this.#dropped,
      msg: "log lines dropped: the reader of the log is too slow",
    };
    this.#dropped = 0;
    this.#add(Buffer.from(`${JSON.stringify(event)}\n`));
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "EAGAIN";
}
