/** One service within this process: the same main, ended by its own signal. */
import { CliError } from "../errors.ts";
import type { ServiceName } from "../layout.ts";
import type { RunningService } from "./child-service.ts";

type Main = (env: Readonly<Record<string, string>>, stop: AbortSignal) => Promise<void>;

/** Loaded on demand: a process per service needs none of them here. */
const mains: Readonly<Record<ServiceName, () => Promise<Main>>> = {
  ca: async () => (await import("@flotilla/ca")).main,
  "config-controller": async () => (await import("@flotilla/config-controller")).main,
  "service-controller": async () => (await import("@flotilla/service-controller")).main,
  "xds-server": async () => (await import("@flotilla/xds-server")).main,
  webhook: async () => (await import("@flotilla/webhook")).main,
};

export interface InProcessOptions {
  readonly name: ServiceName;
  readonly env: Readonly<Record<string, string>>;
  readonly healthUrl: string;
}

export async function startInProcess({ name, env, healthUrl }: InProcessOptions): Promise<RunningService> {
  const main = await mains[name]();
  const stop = new AbortController();
  const done = main(env, stop.signal);
  const ended = done.then(
    () =>
      stop.signal.aborted
        ? new Promise<never>(() => {})
        : Promise.reject(new CliError("CLI_SERVICE_ENDED", `${name} ended by itself`)),
    (cause: unknown) => {
      if (stop.signal.aborted) return new Promise<never>(() => {});
      throw new CliError(
        "CLI_SERVICE_ENDED",
        `${name} failed: ${cause instanceof Error ? cause.message : String(cause)}`,
        { cause },
      );
    },
  );
  // Whoever waits sees it; nobody waiting is no reason to end this process.
  ended.catch(() => {});
  return {
    name,
    pid: undefined,
    healthUrl,
    ended,
    [Symbol.asyncDispose]: async () => {
      stop.abort(new Error("stopped"));
      await done.catch(() => {});
    },
  };
}
