/** Lines of the services' logs: read from JSON, chosen by level and time, written for people. Pure. */
import type { Style, Terminal } from "../parse/terminal.ts";

const logLevelNames = ["debug", "info", "warn", "error"] as const;
type LogLevelName = (typeof logLevelNames)[number];

/** One line of a log. */
export interface LogLine {
  /** Of the replica whose log it is. */
  readonly replica: string;
  /** As it was written. */
  readonly raw: string;
  /** Absent in lines that are no JSON of a service: what Node prints of an uncaught error, for one. */
  readonly event?: LogEvent;
}

interface LogEvent {
  readonly level: string;
  /** Milliseconds since 1970. */
  readonly timeMs: number;
  readonly text: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface LogChoice {
  /** This level and the more severe ones. */
  readonly level: LogLevelName;
  /** Milliseconds since 1970; older lines are left out. */
  readonly sinceMs: number;
}

export function parseLogLine(replica: string, raw: string): LogLine {
  if (!raw.startsWith("{")) return { replica, raw };
  try {
    const { level, time, service: _, msg, ...fields } = JSON.parse(raw) as Readonly<Record<string, unknown>>;
    const timeMs = Date.parse(String(time));
    if (typeof msg !== "string" || Number.isNaN(timeMs)) return { replica, raw };
    return { replica, raw, event: { level: String(level), timeMs, text: msg, fields } };
  } catch {
    // A line that was cut off is shown as it is.
    return { replica, raw };
  }
}

/** Lines without a level count as errors: nothing but a crash writes them. */
export function isChosen({ event }: LogLine, { level, sinceMs }: LogChoice): boolean {
  if (event === undefined) return true;
  const severity = (logLevelNames as readonly string[]).indexOf(event.level);
  return event.timeMs >= sinceMs && (severity === -1 || severity >= logLevelNames.indexOf(level));
}

/** By time; lines without one stay behind the line that they follow. */
export function mergeByTime(logs: readonly (readonly LogLine[])[]): readonly LogLine[] {
  const timed = logs.flatMap((lines) => {
    let lastMs = 0;
    return lines.map((line) => {
      lastMs = line.event?.timeMs ?? lastMs;
      return { line, timeMs: lastMs };
    });
  });
  return timed.toSorted((a, b) => a.timeMs - b.timeMs).map(({ line }) => line);
}

const levelStyles: ReadonlyMap<string, Style> = new Map([
  ["debug", "dim"],
  ["info", "cyan"],
  ["warn", "yellow"],
  ["error", "red"],
]);

/** `15:04:05.123 INFO  ca  the event  key=value`; of an error its stack on lines of its own. */
export function describeLogLine({ replica, raw, event }: LogLine, width: number, paint: Terminal["paint"]): string {
  const name = replica.padEnd(width);
  if (event === undefined) return `${"".padEnd(18)} ${name}  ${raw}`;
  const { error, ...fields } = event.fields;
  const time = new Date(event.timeMs).toISOString().slice(11, 23);
  const level = event.level.toUpperCase().padEnd(5);
  const style = levelStyles.get(event.level);
  const values = Object.entries(fields).map(([key, value]) => `${key}=${valueText(value)}`);
  const stack = stackOf(error);
  return [
    `${paint("dim", time)} ${style === undefined ? level : paint(style, level)} ${name}  ${[event.text, ...values].join("  ")}`,
    ...(stack === undefined ? [] : stack.split("\n").map((line) => `${"".padEnd(19 + width)}  ${line}`)),
  ].join("\n");
}

function valueText(value: unknown): string {
  if (typeof value === "string") return /[\s="]/.test(value) ? JSON.stringify(value) : value;
  return JSON.stringify(value) ?? "undefined";
}

function stackOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const { stack, message } = error as { readonly stack?: unknown; readonly message?: unknown };
  return typeof stack === "string" ? stack : String(message);
}
