/** NATS and Redis of a control plane: kept running on their ports and data, or those that the settings name. */
import { type RunningServer, type StartOptions, startNats, startRedis } from "@flotilla/servers";
import type { Shared } from "../environment.ts";
import { type Layout, paths } from "../layout.ts";
import type { RunOptions } from "../options.ts";
import { type Run, Supervised, type SupervisionEvent } from "./supervised.ts";

export interface SharedServer extends AsyncDisposable {
  readonly name: "nats" | "redis";
  readonly url: string;
  readonly port: number;
  readonly pid: number | undefined;
  readonly supervised: Supervised<Run>;
  /** Ends it as a crash would, and for good. */
  kill(): Promise<void>;
}

export interface Servers {
  readonly nats?: SharedServer;
  readonly redis?: SharedServer;
}

export interface OpenSharedOptions {
  readonly options: RunOptions;
  readonly layout: Layout;
  readonly onProgress: (text: string) => void;
  readonly onEvent: (event: SupervisionEvent) => void;
  readonly stop: AbortSignal;
}

/** Addresses that are given by settings are used as they are. */
export async function openShared(
  given: OpenSharedOptions,
  owned: AsyncDisposableStack,
): Promise<{ readonly shared: Shared; readonly servers: Servers }> {
  const { embedded, settings } = given.options;
  const { workDir } = given.layout;
  if (embedded) return { shared: { busUrl: `embedded:${workDir}`, storeUrl: `embedded:${workDir}` }, servers: {} };
  const nats = settings["BUS_URL"] === undefined ? owned.use(await keepServer("nats", startNats, given)) : undefined;
  const redis =
    settings["STORE_URL"] === undefined ? owned.use(await keepServer("redis", startRedis, given)) : undefined;
  const shared = {
    busUrl: settings["BUS_URL"] ?? nats?.url ?? "",
    storeUrl: settings["STORE_URL"] ?? redis?.url ?? "",
  };
  return { shared, servers: { ...(nats && { nats }), ...(redis && { redis }) } };
}

/** Started again it gets the port and the directory of the first time: its clients connect again. */
async function keepServer(
  name: SharedServer["name"],
  start: (options: StartOptions) => Promise<RunningServer>,
  { options, layout, onProgress, onEvent, stop }: OpenSharedOptions,
): Promise<SharedServer> {
  const find = { env: options.settings, directory: paths(layout).servers, onProgress, stop };
  const first = await start(find);
  const { url, port } = first;
  const again = async () => runOf(await start({ ...find, port }));
  const supervised = new Supervised({ name, first: runOf(first), start: again, onEvent });
  return {
    ...{ name, url, port, supervised },
    get pid() {
      return supervised.run?.pid;
    },
    kill: () => supervised.kill(),
    [Symbol.asyncDispose]: () => supervised[Symbol.asyncDispose](),
  };
}

/** A server that has been started is ready. */
function runOf(server: RunningServer): Run {
  return {
    pid: server.pid,
    exited: server.exited,
    isReady: async () => true,
    stop: async () => server[Symbol.asyncDispose](),
    kill: () => server.kill(),
  };
}
