/** One run of a service within this process: the same main, ended by its own signal. */
import type { ServiceName } from "../layout.ts";
import { healthOf } from "./health.ts";
import type { Run } from "./supervised.ts";

type Main = (env: Readonly<Record<string, string>>, stop: AbortSignal) => Promise<void>;

/** Loaded on demand: a process per service needs none of them here. */
const mains: Readonly<Record<ServiceName, () => Promise<Main>>> = {
  ca: async () => (await import("@flotilla/ca")).main,
  "config-controller": async () => (await import("@flotilla/config-controller")).main,
  "service-controller": async () => (await import("@flotilla/service-controller")).main,
  "xds-server": async () => (await import("@flotilla/xds-server")).main,
  webhook: async () => (await import("@flotilla/webhook")).main,
  console: async () => (await import("@flotilla/console-server")).main,
};

export interface InProcessOptions {
  readonly name: ServiceName;
  readonly env: Readonly<Record<string, string>>;
  readonly healthUrl: string;
}

export async function startInProcess({ name, env, healthUrl }: InProcessOptions): Promise<Run> {
  const main = await mains[name]();
  const stop = new AbortController();
  const exited = main(env, stop.signal).then(
    () => "it returned",
    (cause: unknown) => (cause instanceof Error ? cause.message : String(cause)),
  );
  const end = async (): Promise<void> => {
    stop.abort(new Error("stopped"));
    await exited;
  };
  return {
    pid: undefined,
    exited,
    isReady: async () => (await healthOf({ healthUrl, pid: process.pid })).state === "ready",
    stop: end,
    kill: end,
  };
}
