/**
 * One line at the end of a terminal about what a command is doing, for commands that take longer than a second. It is drawn on the
 * standard error, so that the output stays what it is, and erased before anything else is written. Nothing is drawn into pipes and files.
 */
import { styleText } from "node:util";
import { LiveArea, type LiveOutput } from "../supervise/live-area.ts";
import type { Terminal } from "./terminal.ts";

export interface ProgressOptions {
  /** The standard error, and whether it is a terminal. */
  readonly output: LiveOutput;
  readonly nowMs: () => number;
  /** Of the line; dim by default, and plain with NO_COLOR. */
  readonly paint?: (text: string) => string;
}

/** A command that ends sooner shows nothing. */
const afterMs = 1_000;
const everyMs = 100;
const frames = ["|", "/", "-", "\\"] as const;

export class ProgressLine implements Disposable {
  readonly #options: ProgressOptions;
  readonly #area: LiveArea;
  readonly #startedMs: number;
  readonly #timer: NodeJS.Timeout | undefined;
  #text: string;
  #frame = 0;

  /** @param text what the command does, such as `asking the services` */
  constructor(text: string, options: ProgressOptions) {
    this.#options = options;
    this.#text = text;
    this.#area = new LiveArea(options.output);
    this.#startedMs = options.nowMs();
    if (options.output.isTTY === true) this.#timer = setInterval(() => this.#draw(), everyMs).unref();
  }

  /** Replaces the text: the command does something else now. */
  step(text: string): void {
    this.#text = text;
  }

  /** Erases the line until it is drawn the next time. */
  erase(): void {
    if (this.#timer !== undefined) this.#area.draw("");
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.erase();
    this.#area[Symbol.dispose]();
  }

  #draw(): void {
    const { nowMs, paint = dim } = this.#options;
    const elapsedMs = nowMs() - this.#startedMs;
    if (elapsedMs < afterMs) return;
    const frame = frames[this.#frame++ % frames.length] ?? "";
    this.#area.draw(paint(`${frame} ${this.#text}, ${Math.floor(elapsedMs / 1_000)} s`));
  }
}

/** Node asks the stream, NO_COLOR and FORCE_COLOR. */
function dim(text: string): string {
  return styleText("dim", text, { stream: process.stderr });
}

/** The terminal of a command that shows progress: whatever it writes stands where the line was. */
export function withProgress(terminal: Terminal, line: ProgressLine): Terminal {
  const erasing =
    <Arguments extends readonly unknown[]>(write: (...given: Arguments) => void) =>
    (...given: Arguments): void => {
      line.erase();
      write(...given);
    };
  return {
    ...terminal,
    print: erasing((text: string) => terminal.print(text)),
    write: erasing((text: string) => terminal.write(text)),
    warn: erasing((text: string) => terminal.warn(text)),
    step: (text) => line.step(text),
  };
}
