/** Output of one value in the format that the user chose. */
import { stringify } from "yaml";

export type Format = "table" | "wide" | "json" | "yaml" | "name";

/** `--json` is short for `-o json`. */
export function formatOf<F extends Format>({
  output,
  json,
}: {
  readonly output: F;
  readonly json: boolean;
}): F | "json" {
  return json ? "json" : output;
}

/** The value as JSON or YAML, or the text that `describe` makes of it for people. */
export function render<Value>(format: Format, value: Value, describe: (value: Value) => string): string {
  if (format === "json") return JSON.stringify(value, undefined, 2);
  if (format === "yaml") return stringify(value, { lineWidth: 0 }).trimEnd();
  return describe(value);
}

/** `300ms`, `30s`, `1.5s`. */
export function durationText(ms: number): string {
  return ms < 1_000 ? `${ms}ms` : `${ms / 1_000}s`;
}

/** `1 proxy`, `2 proxies`. */
export function counted(count: number, one: string, several: string = `${one}s`): string {
  return `${count} ${count === 1 ? one : several}`;
}

/** Of a parser's message, whose further lines show the place: without the colon that leads to these. */
export function firstLine(message: string): string {
  return (message.split("\n", 1)[0] ?? "").replace(/:$/, "");
}

/** Columns as wide as their longest cell, three spaces apart. */
export function columns(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows)
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, cell.length);
  const line = (row: readonly string[]) => row.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join("   ");
  return rows.map((row) => line(row).trimEnd()).join("\n");
}
