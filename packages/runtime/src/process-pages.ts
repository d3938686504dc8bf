/** Settings and log levels of a service over its health port, for callers whom the service lets see and change them. */
import type { HttpHandler, HttpReply } from "@flotilla/http";
import { type LogLevel, type LogLevels, logLevels } from "./log-levels.ts";
import type { Logger } from "./logger.ts";
import type { ShownSetting } from "./settings/settings.ts";

/** Settings of a running process; secret ones are not shown. */
export interface ProcessSettings {
  readonly service: string;
  readonly version: string;
  readonly settings: readonly ShownSetting[];
  /** Of parts of the service; `default` for what is not listed. */
  readonly levels: readonly { readonly scope: string; readonly level: LogLevel }[];
}

/** Handlers without a guard: who may call them is for the service to decide. */
export interface ProcessPages {
  inEffect(): ProcessSettings;
  /** Answers `ProcessSettings`. */
  readonly settings: HttpHandler;
  /** Body `{scope, level}`: the level of a part, or of `default`, until the process ends. */
  readonly setLevel: HttpHandler;
}

interface ProcessPageOptions {
  readonly service: string;
  readonly version: string;
  readonly settings: readonly ShownSetting[];
  readonly levels: LogLevels;
  readonly log: Logger;
}

export function processPages({ service, version, settings, levels, log }: ProcessPageOptions): ProcessPages {
  const list = () => Object.entries(levels.list()).map(([scope, level]) => ({ scope, level }));
  const inEffect = () => ({ service, version, settings, levels: list() });
  return {
    inEffect,
    settings: () => ({ json: inEffect() }),
    setLevel: ({ body }) => {
      const wanted = parseLevel(body);
      if (!("scope" in wanted)) return wanted;
      const { scope, level } = wanted;
      if (!list().some((one) => one.scope === scope)) return badRequest(`there is no part ${JSON.stringify(scope)}`);
      levels.set(scope, level);
      log.info("log level changed", { scope, level });
      return { json: { scope, level } };
    },
  };
}

function parseLevel(body: Uint8Array): { readonly scope: string; readonly level: LogLevel } | HttpReply {
  let given: { readonly scope?: unknown; readonly level?: unknown } | null;
  try {
    given = JSON.parse(Buffer.from(body).toString()) as typeof given;
  } catch (error) {
    if (error instanceof SyntaxError) return badRequest(`the body is no JSON: ${error.message}`);
    throw error;
  }
  const level = logLevels.find((one) => one === given?.level);
  if (level === undefined) return badRequest(`level is none of ${logLevels.join(", ")}`);
  return { scope: String(given?.scope ?? "default"), level };
}

function badRequest(error: string): HttpReply & { readonly status: number } {
  return { status: 400, json: { error } };
}
