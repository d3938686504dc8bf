/** Structured logs behind a narrow interface: an event in lower case, its values as fields. */
import { openSync } from "node:fs";
import { type DestinationStream, type LevelWithSilent, pino, stdSerializers } from "pino";
import { RuntimeError } from "./errors.ts";
import { defaultScope, type LogLevel, LogLevels, type LogScope, logLevels, parseScopeLevels } from "./log-levels.ts";
import { LogWriter } from "./log-writer.ts";
import { list, oneOf } from "./settings/kinds.ts";
import type { Setting } from "./settings/settings.ts";

/** Values of a log line; errors are logged with their stack and causes. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Writes structured log lines: an event in lower case, its values as fields. */
export interface Logger {
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
  /** A logger that adds `fields` to every line. */
  child(fields: LogFields): Logger;
}

/** Takes one line, its newline included. */
export interface LogDestination {
  write(line: string): void;
}

/**
 * One JSON object a line; standard output unless `destination` is given, which is never waited for. A field `error` is written with its
 * code and stack.
 */
export function createLogger(
  service: string,
  level: LogLevel | LogLevels = "info",
  destination: LogDestination = standardOutput(),
): Logger {
  const options = {
    // Levels are asked for line by line, as they change while the service runs.
    level: "debug" satisfies LevelWithSilent,
    base: { service },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { error: stdSerializers.err },
  };
  const levels = level instanceof LogLevels ? level : new LogLevels(level);
  return wrap(pino(options, destination satisfies DestinationStream), levels, levels.scope(defaultScope));
}

/** One for each output of the process, so that lines of several loggers do not mix. */
const outputs = new Map<number | string, LogWriter>();

function standardOutput(): LogDestination {
  return outputTo("stdout");
}

/**
 * Of each line one copy goes to every target: `stdout`, `stderr` or a file that is appended to.
 * @throws RuntimeError LOG_TARGET when a file cannot be opened
 */
export function openLogTargets(targets: readonly string[]): LogDestination {
  const all = targets.map(outputTo);
  return {
    write: (line) => {
      for (const one of all) one.write(line);
    },
  };
}

function outputTo(target: string): LogWriter {
  const known = outputs.get(target);
  if (known !== undefined) return known;
  const writer = new LogWriter(target === "stdout" ? 1 : target === "stderr" ? 2 : openFile(target));
  process.on("exit", () => writer.flushSync());
  outputs.set(target, writer);
  return writer;
}

function openFile(path: string): number {
  try {
    return openSync(path, "a", 0o640);
  } catch (cause) {
    const reason = (cause as Error).message;
    throw new RuntimeError("LOG_TARGET", `LOG_TARGET=${path}: the file cannot be written: ${reason}`, { cause });
  }
}

/** Logs nothing, for tests and for parts whose caller logs. */
export const noopLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => noopLogger,
};

function wrap(inner: pino.Logger, levels: LogLevels, scope: LogScope): Logger {
  const write =
    (level: Exclude<LogLevel, "silent">) =>
    (event: string, fields?: LogFields): void => {
      if (scope.allows(level)) inner[level](fields ?? {}, event);
    };
  return {
    ...{ debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") },
    child: ({ part, ...fields }) =>
      wrap(
        inner.child(part === undefined ? fields : { part, ...fields }),
        levels,
        typeof part === "string" ? levels.scope(part) : scope,
      ),
  };
}

/** Settings of the log, the same for every service. */
export const logSettings = {
  logLevel: oneOf({
    env: "LOG_LEVEL",
    default: "info",
    values: logLevels,
    sentence: "The least severe lines that are logged.",
  }),
  logScopeLevels: scopeLevels(),
  logTargets: list({
    env: "LOG_TARGET",
    default: ["stdout"],
    sentence: "Where log lines go, separated by commas: stdout, stderr, or files that are appended to.",
  }),
} as const;

function scopeLevels(): Setting<readonly string[]> {
  const { parse, ...texts } = list({
    env: "LOG_SCOPE_LEVELS",
    default: [],
    sentence: "Levels of single parts of a service, as PART:LEVEL; log lines name their part.",
  });
  return {
    ...{ ...texts, bounds: "PART:LEVEL, separated by commas" },
    parse: (text) => {
      const found = parse(text);
      parseScopeLevels(found);
      return found;
    },
  };
}
