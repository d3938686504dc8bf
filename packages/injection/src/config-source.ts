/**
 * The injection configuration from files, from whatever else has its documents, or the built-in one; a version that cannot be used leaves the
 * one before in force.
 */
import { readFile } from "node:fs/promises";
import { followFiles, type Logger, orAborted } from "@flotilla/runtime";
import { type InjectionConfig, parseInjectionConfig } from "./config.ts";
import { InjectionError } from "./errors.ts";
import type { Texts } from "./pod.ts";

/** The two documents; the built-in one stands for an absent one. */
export interface InjectionDocuments {
  readonly config?: string | undefined;
  readonly values?: string | undefined;
  /** For the log: a file, a ConfigMap. */
  readonly source: string;
  /** Why they cannot be read. */
  readonly reason?: string;
}

export interface InjectionConfigOptions {
  readonly configFile: string | undefined;
  readonly valuesFile: string | undefined;
  /** Documents from elsewhere, where no file is given: again after each change. */
  readonly documents?: ((stop: AbortSignal) => AsyncIterable<InjectionDocuments>) | undefined;
  /** Settings that replace values. */
  readonly adjust: (config: InjectionConfig) => InjectionConfig;
  readonly pollMs: number;
  readonly log: Logger;
  /** Undefined: all is well again. */
  readonly onStale: (reason: string | undefined) => void;
}

export interface InjectionConfigSource {
  /** Resolves when there is a version to begin with; rejects when there is none before `stop`. */
  readonly first: () => Promise<void>;
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
    // One for each waiter: a promise that is not awaited must not reject.
    first: () => orAborted(first, stop),
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
  const { log, onStale } = options;
  const own = await builtInDocuments();
  for await (const { config = own.config, values = own.values, source, reason } of documentsOf(options, stop)) {
    try {
      if (reason !== undefined) throw new InjectionError("INJECT_BAD_CONFIG", reason);
      take(parseInjectionConfig(config, values));
      log.info("injection configuration read", { source });
      onStale(undefined);
    } catch (error) {
      if (!(error instanceof InjectionError)) throw error;
      log.warn("injection configuration refused, the one before stays in force", { source, reason: error.reason });
      onStale(error.reason);
    }
  }
}

async function* documentsOf(
  { configFile, valuesFile, documents, pollMs }: InjectionConfigOptions,
  stop: AbortSignal,
): AsyncIterable<InjectionDocuments> {
  const paths = [configFile, valuesFile].filter((path) => path !== undefined);
  const source = paths.join(", ");
  if (paths.length === 0) {
    if (documents === undefined) yield { source: "built-in" };
    else yield* documents(stop);
    return;
  }
  for await (const { texts, reason } of followFiles(paths, pollMs, stop)) {
    if (texts === undefined) yield { source, reason };
    else
      yield {
        ...(configFile === undefined ? {} : { config: texts[0] }),
        ...(valuesFile === undefined ? {} : { values: texts.at(-1) }),
        source,
      };
  }
}

/** The documents of a ConfigMap `istio-sidecar-injector`; the built-in ones where there is none. */
export function documentsOfMap(name: string, data: Texts | undefined): InjectionDocuments {
  if (data === undefined) return { source: `built-in, there is no ConfigMap ${name}` };
  const source = `ConfigMap ${name}`;
  const { config, values } = data;
  const missing = config === undefined ? "config" : "values";
  if (config === undefined || values === undefined) return { source, reason: `${source} has no key ${missing}` };
  return { config, values, source };
}

/** The ConfigMap of a revision, as Istio names it. */
export function injectionMapOf(revision: string): string {
  return `istio-sidecar-injector${revision === "default" || revision === "" ? "" : `-${revision}`}`;
}

/** Both documents that come with the package. */
export async function builtInDocuments(): Promise<{ readonly config: string; readonly values: string }> {
  return { config: await readBuiltIn(), values: await readFile(builtIn("values.json"), "utf8") };
}

/** The built-in configuration is a template for each role of a proxy, and for programs without one. */
async function readBuiltIn(): Promise<string> {
  const read = async (name: string) => [name, await readFile(builtIn(`${name}.yaml`), "utf8")] as const;
  const roles = ["sidecar", "gateway", "kube-gateway", "grpc-agent", "grpc-simple"];
  const templates = Object.fromEntries(await Promise.all(roles.map(read)));
  return JSON.stringify({
    policy: "enabled",
    defaultTemplates: ["sidecar"],
    // One file for whatever is deployed for a Gateway; installations of Istio have two.
    templates: { ...templates, waypoint: templates["kube-gateway"] },
  });
}
