/** NATS and Redis of a control plane: kept running on their ports and data, or those that the settings name. */
import { join } from "node:path";
import { createBusCredentials, natsAuthorization, natsHealth } from "@flotilla/bus";
import { type RunningServer, type StartOptions, startNats, startRedis } from "@flotilla/servers";
import { createStoreCredentials } from "@flotilla/state";
import type { Shared } from "../environment.ts";
import { type Layout, paths, type ServiceName } from "../layout.ts";
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
  /** After `kill`: on the port, with the data and the users that it had, and not supervised. */
  startAgain(): Promise<RunningServer>;
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
  const { BUS_URL: givenBus, STORE_URL: givenStore } = settings;
  if (embedded) return { shared: sameForAll(`embedded:${workDir}`, `embedded:${workDir}`), servers: {} };
  const { credentials } = paths(given.layout);
  const bus = createBusCredentials(join(credentials, "nats"));
  const store = createStoreCredentials(join(credentials, "redis"));
  const authorization = natsAuthorization(bus.users);
  const nats =
    givenBus === undefined
      ? owned.use(await keepServer("nats", (find) => startNats({ ...find, authorization, health: natsHealth }), given))
      : undefined;
  const redis =
    givenStore === undefined
      ? owned.use(await keepServer("redis", (find) => startRedis({ ...find, users: store.users }), given))
      : undefined;
  const shared = {
    ...sameForAll(givenBus ?? nats?.url ?? "", givenStore ?? redis?.url ?? ""),
    // The console speaks to neither.
    settingsOf: (service: ServiceName) =>
      service === "console"
        ? {}
        : {
            BUS_URL: nats === undefined ? (givenBus ?? "") : bus.urlFor(service, nats.url),
            ...(service === "xds-server" && {
              STORE_URL: redis === undefined ? (givenStore ?? "") : store.urlFor(service, redis.url),
            }),
          },
  };
  return { shared, servers: { ...(nats && { nats }), ...(redis && { redis }) } };
}

function sameForAll(busUrl: string, storeUrl: string): Shared {
  return { busUrl, storeUrl, settingsOf: () => ({ BUS_URL: busUrl, STORE_URL: storeUrl }) };
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
  const startAgain = () => start({ ...find, port });
  const again = async () => runOf(await startAgain());
  const supervised = new Supervised({ name, first: runOf(first), start: again, onEvent });
  return {
    ...{ name, url, port, supervised, startAgain },
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
    failure: () => server.failure(),
    stop: async () => server[Symbol.asyncDispose](),
    kill: () => server.kill(),
  };
}
