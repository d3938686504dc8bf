/** Structured logs behind a narrow interface: an event in lower case, its values as fields. */
import { type DestinationStream, type LevelWithSilent, pino, stdSerializers } from "pino";
import { LogWriter } from "./log-writer.ts";
import { oneOf } from "./settings/kinds.ts";

/** The least severe lines that are logged; `silent` logs none. */
export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";
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

const logLevels: readonly LogLevel[] = ["debug", "info", "warn", "error", "silent"];

/**
 * One JSON object a line; standard output unless `destination` is given, which is never waited for. A field `error` is written with its
 * code and stack.
 */
export function createLogger(
  service: string,
  level: LogLevel = "info",
  destination: LogDestination = standardOutput(),
): Logger {
  const options = {
    level: level satisfies LevelWithSilent,
    base: { service },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { error: stdSerializers.err },
  };
  return wrap(pino(options, destination satisfies DestinationStream));
}

/** One for the process, so that lines of several loggers do not mix. */
let output: LogWriter | undefined;

function standardOutput(): LogDestination {
  if (output === undefined) {
    const writer = new LogWriter(1);
    process.on("exit", () => writer.flushSync());
    output = writer;
  }
  return output;
}

/** Logs nothing, for tests and for parts whose caller logs. */
export const noopLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => noopLogger,
};

function wrap(inner: pino.Logger): Logger {
  return {
    debug: (event, fields) => inner.debug(fields ?? {}, event),
    info: (event, fields) => inner.info(fields ?? {}, event),
    warn: (event, fields) => inner.warn(fields ?? {}, event),
    error: (event, fields) => inner.error(fields ?? {}, event),
    child: (fields) => wrap(inner.child(fields)),
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
} as const;
