/** The end of a log, for people. */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";

const tailBytes = 16_384;

/** The last error of a log in JSON from a byte on, else its last line with text; undefined when there is none. */
export function lastEvent(logFile: string, fromByte = 0): string | undefined {
  const lines = tail(logFile, fromByte)
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const events = lines.map(readable);
  const failure = events.findLast(({ isError }) => isError);
  return (failure ?? events.at(-1))?.text;
}

interface LogEvent {
  readonly text: string;
  readonly isError: boolean;
}

/** Services log JSON; what Node prints of an uncaught error is text. */
function readable(line: string): LogEvent {
  if (line.startsWith("{")) {
    try {
      const { msg, level, error } = JSON.parse(line) as {
        readonly msg?: string;
        readonly level?: string;
        readonly error?: { readonly message?: string };
      };
      const text = [msg, error?.message].filter((part) => part !== undefined).join(": ");
      if (text !== "") return { text, isError: level === "error" };
    } catch {
      // Cut off, or no JSON: shown as it is.
    }
  }
  return { text: line, isError: /^\w*Error\b/.test(line) };
}

function tail(file: string, fromByte: number): string {
  const descriptor = openSync(file, "r");
  try {
    const { size } = fstatSync(descriptor);
    const buffer = Buffer.alloc(Math.max(0, Math.min(size - fromByte, tailBytes)));
    readSync(descriptor, buffer, 0, buffer.length, size - buffer.length);
    return buffer.toString("utf8");
  } finally {
    closeSync(descriptor);
  }
}
