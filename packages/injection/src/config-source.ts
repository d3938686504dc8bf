/** The injection configuration from files, or the built-in one; a version that cannot be used leaves the one before in force. */
import { readFile } from "node:fs/promises";
import { followFiles, type Logger, orAborted } from "@flotilla/runtime";
import { type InjectionConfig, parseInjectionConfig } from "./config.ts";
import { InjectionError } from "./errors.ts";

export interface InjectionConfigOptions {
  readonly configFile: string | undefined;
  readonly valuesFile: string | undefined;
  /** Settings that replace values. */
  readonly adjust: (config: InjectionConfig) => InjectionConfig;
  readonly pollMs: number;
  readonly log: Logger;
  /** Undefined: all is well again. */
  readonly onStale: (reason: string | undefined) => void;
}

export interface InjectionConfigSource {
  /** Rejects when there is no version to begin with before `stop`. */
  readonly first: Promise<void>;
  readonly current: () => InjectionConfig;
  /** Until `stop`. */
  readonly following: Promise<void>;
}

const builtIn = (name: string): URL => new URL(`templates/${name}`, import.meta.url);

export function injectionConfigSource(options: InjectionConfigOptions, stop: AbortSignal): InjectionConfigSource {
  const { promise: first, resolve } = Promise.withResolvers<void>();
  let current: InjectionConfig | undefined;
  const take = (config: InjectionConfig): void => {
    current = options.adjust(config);
    resolve();
  };
  return {
    first: orAborted(first, stop),
    following: follow(options, take, stop),
    current: () => {
      if (current === undefined)
        throw new InjectionError("INJECT_BAD_CONFIG", "the injection configuration has not been read yet");
      return current;
    },
  };
}

async function follow(
  options: InjectionConfigOptions,
  take: (config: InjectionConfig) => void,
  stop: AbortSignal,
): Promise<void> {
  const { configFile, valuesFile, pollMs, log, onStale } = options;
  const own = { config: await readBuiltIn(), values: await readFile(builtIn("values.json"), "utf8") };
  const paths = [configFile, valuesFile].filter((path) => path !== undefined);
  if (paths.length === 0) {
    take(parseInjectionConfig(own.config, own.values));
    return;
  }
  for await (const { texts, reason } of followFiles(paths, pollMs, stop)) {
    try {
      if (texts === undefined) throw new InjectionError("INJECT_BAD_CONFIG", reason);
      const [config = own.config] = configFile === undefined ? [] : texts;
      const values = valuesFile === undefined ? own.values : (texts.at(-1) ?? own.values);
      take(parseInjectionConfig(config, values));
      log.info("injection configuration read", { files: paths });
      onStale(undefined);
    } catch (error) {
      if (!(error instanceof InjectionError)) throw error;
      log.warn("injection configuration refused, the one before stays in force", {
        files: paths,
        reason: error.reason,
      });
      onStale(error.reason);
    }
  }
}

/** The built-in configuration is a template for each role of a proxy, and nothing that a user would have to know. */
async function readBuiltIn(): Promise<string> {
  const read = async (name: string) => [name, await readFile(builtIn(`${name}.yaml`), "utf8")] as const;
  const templates = await Promise.all(["sidecar", "gateway", "kube-gateway"].map(read));
  return JSON.stringify({
    policy: "enabled",
    defaultTemplates: ["sidecar"],
    templates: Object.fromEntries(templates),
  });
}
