/**
 * Text that is drawn again in place at the end of a terminal's output, with lines written above it. Elsewhere it is written
 * again when it changed.
 */
import stringWidth from "string-width";
import wrapAnsi from "wrap-ansi";

/** The used part of `process.stdout`. */
export interface LiveOutput {
  readonly isTTY?: boolean;
  write(text: string): unknown;
  /** Columns and rows as they are now, also before a change of them was announced. */
  getWindowSize?(): [number, number];
  on?(event: "resize", listener: () => void): unknown;
  off?(event: "resize", listener: () => void): unknown;
}

const defaultSize: readonly [number, number] = [80, 24];

export class LiveArea implements Disposable {
  readonly #output: LiveOutput;
  readonly #onResize = () => this.#redraw("");
  #text = "";
  /** Lines on the terminal, none longer than it was wide. */
  #drawn: readonly string[] = [];

  constructor(output: LiveOutput) {
    this.#output = output;
    if (output.isTTY) output.on?.("resize", this.#onResize);
  }

  draw(text: string): void {
    if (text === this.#text) return;
    this.#text = text;
    if (this.#output.isTTY) this.#redraw("");
    else this.#output.write(`${text}\n`);
  }

  /** Writes lines that stay, above the text. */
  log(lines: string): void {
    if (this.#output.isTTY) this.#redraw(`${lines}\n`);
    else this.#output.write(`${lines}\n`);
  }

  /** The text stays as it is; later output goes below. */
  [Symbol.dispose](): void {
    this.#output.off?.("resize", this.#onResize);
    this.#text = "";
    this.#drawn = [];
  }

  /** In one write, so that nothing comes between. */
  #redraw(above: string): void {
    const [columns, rows] = this.#size();
    const erase = this.#drawn.length === 0 ? "" : `\x1b[${this.#height(columns)}A\r\x1b[J`;
    this.#drawn = this.#text === "" ? [] : fit(this.#text, columns, rows);
    this.#output.write(erase + above + this.#drawn.map((line) => `${line}\n`).join(""));
  }

  /** A terminal that became narrower has wrapped what was drawn. */
  #height(columns: number): number {
    return this.#drawn.reduce((sum, line) => sum + Math.max(1, Math.ceil(stringWidth(line) / columns)), 0);
  }

  #size(): readonly [number, number] {
    const [columns, rows] = this.#output.getWindowSize?.() ?? defaultSize;
    // Terminals without a size report 0.
    return columns > 0 && rows > 0 ? [columns, rows] : defaultSize;
  }
}

/** Wraps long lines, and leaves out those for which the terminal is too low: what scrolled away could not be drawn again. */
function fit(text: string, columns: number, rows: number): readonly string[] {
  const lines = text
    .split("\n")
    .flatMap((line) => wrapAnsi(line, columns, { hard: true, trim: false, wordWrap: true }).split("\n"));
  // The cursor stands on the line below.
  const room = Math.max(1, rows - 1);
  if (lines.length <= room) return lines;
  const left = room - 1;
  return [...lines.slice(0, left), `… ${lines.length - left} more lines: flotilla status`.slice(0, columns)];
}
