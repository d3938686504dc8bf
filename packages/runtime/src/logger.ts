/** Structured logs behind a narrow interface: an event in lower case, its values as fields. */
import { type DestinationStream, type LevelWithSilent, pino, stdSerializers } from "pino";

export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";
export type LogFields = Readonly<Record<string, unknown>>;

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

export const logLevels: readonly LogLevel[] = ["debug", "info", "warn", "error", "silent"];

/** One JSON object a line; standard output unless `destination` is given. A field `error` is written with its code and stack. */
export function createLogger(service: string, level: LogLevel = "info", destination?: LogDestination): Logger {
  const options = {
    level: level satisfies LevelWithSilent,
    base: { service },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { error: stdSerializers.err },
  };
  return wrap(destination === undefined ? pino(options) : pino(options, destination satisfies DestinationStream));
}

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
