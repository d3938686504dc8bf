/**
 * Log lines of the rejections of one stream. A client that asks and rejects in a loop would fill the log: after the first lines
 * there is one in each interval, with the number of those that were left out.
 */
import { shortName } from "@flotilla/proto";
import type { Logger } from "@flotilla/runtime";
import type { Rejection } from "@flotilla/xds";

/** Lines at once; then one in each interval. */
const maxLines = 10;
const intervalMs = 10_000;
/** Of a client's text, in characters. */
const maxLoggedLength = 2_000;

export interface RejectionLogOptions {
  readonly log: Logger;
  /** Milliseconds; monotonic. */
  readonly now: () => number;
  /** A rejection gets no line. */
  readonly onUnlogged: () => void;
}

export class RejectionLog {
  readonly #options: RejectionLogOptions;
  #lines = maxLines;
  #countedAtMs: number;
  #unlogged = 0;

  constructor(options: RejectionLogOptions) {
    this.#options = options;
    this.#countedAtMs = options.now();
  }

  write(typeUrl: string, rejection: Rejection): void {
    const { log, now, onUnlogged } = this.#options;
    const atMs = now();
    this.#lines = Math.min(maxLines, this.#lines + (atMs - this.#countedAtMs) / intervalMs);
    this.#countedAtMs = atMs;
    if (this.#lines < 1) {
      this.#unlogged++;
      onUnlogged();
      return;
    }
    this.#lines--;
    const message = rejection.message.slice(0, maxLoggedLength);
    const more = this.#unlogged > 0 && { unlogged: this.#unlogged };
    log.warn("rejected by the client", { type: shortName(typeUrl), ...rejection, message, ...more });
    this.#unlogged = 0;
  }
}
