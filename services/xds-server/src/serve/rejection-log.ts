/**
 * Log lines of rejections, by proxy. A client that requests and rejects in a loop would fill the log, also with a new stream each time.
 */
import { shortName } from "@flotilla/proto";
import { LineBudgets, type Logger } from "@flotilla/runtime";
import type { Rejection } from "@flotilla/xds";

/** Burst of lines for one proxy; then one per interval. */
const maxLines = 10;
const intervalMs = 10_000;
/** Of a client's text, in characters. */
const maxLoggedLength = 2_000;

export interface RejectionLogOptions {
  /** Milliseconds; monotonic. */
  readonly now: () => number;
  /** A rejection gets no line. */
  readonly onUnlogged: () => void;
}

/** Shared by all streams of a server. */
export class RejectionLog {
  readonly #budgets: LineBudgets;

  constructor(options: RejectionLogOptions) {
    this.#budgets = new LineBudgets({ maxLines, intervalMs, ...options });
  }

  /** `log`: the stream's. */
  write(log: Logger, proxy: string, typeUrl: string, rejection: Rejection): void {
    this.#budgets.write(proxy, (more) => {
      const message = rejection.message.slice(0, maxLoggedLength);
      log.warn("rejected by the client", { type: shortName(typeUrl), ...rejection, message, ...more });
    });
  }
}
