/** Several NATS servers as one JetStream cluster on this host, for tests of what a lost server does. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import {
  maxFileStore,
  type NatsOptions,
  type Plan,
  type RunningServer,
  start,
  writePrivately,
} from "./start-server.ts";

/** Number of servers, and the options of each. */
export interface NatsClusterOptions extends Omit<NatsOptions, "port"> {
  readonly size: number;
}

/** A running cluster; disposing of it ends all servers. */
export interface NatsCluster extends AsyncDisposable {
  /** All servers, separated by commas. */
  readonly url: string;
  readonly servers: readonly RunningServer[];
  /** Where each server describes itself over HTTP. */
  readonly pages: readonly string[];
  /** Starts server `i` again on the port and the data that it had. */
  restart(i: number): Promise<void>;
}

interface Member {
  readonly directory: string;
  readonly port: number;
  readonly httpPort: number;
  readonly plan: Plan;
}

/** JetStream is not ready before a leader is elected, some seconds later. @throws ServersError */
export async function startNatsCluster({
  size,
  directory,
  authorization = "",
  ...options
}: NatsClusterOptions): Promise<NatsCluster> {
  const routes: number[] = [];
  for (let i = 0; i < size; i++) routes.push(await freePort());
  const members: Member[] = [];
  for (let i = 0; i < size; i++) {
    const own = join(directory, `nats-${i}`);
    mkdirSync(own, { recursive: true });
    const [port, httpPort] = [await freePort(), await freePort()];
    members.push({ directory: own, port, httpPort, plan: planOf({ authorization, httpPort, routes, own: i }) });
  }
  const startMember = ({ directory: own, port, plan }: Member) => start(plan, { ...options, directory: own, port });
  const servers = await Promise.all(members.map(startMember));
  return {
    url: servers.map(({ url }) => url).join(","),
    servers,
    pages: members.map(({ httpPort }) => `http://127.0.0.1:${httpPort}`),
    restart: async (i) => {
      const member = members[i];
      if (member !== undefined) servers[i] = await startMember(member);
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
    },
  };
}

interface PlanOptions {
  readonly authorization: string;
  readonly httpPort: number;
  readonly routes: readonly number[];
  /** Place of this one among them. */
  readonly own: number;
}

function planOf({ authorization, httpPort, routes, own }: PlanOptions): Plan {
  const args = (directory: string, port: number) => {
    const file = join(directory, "nats.conf");
    const urls = routes.map((route) => `"nats://127.0.0.1:${route}"`).join(", ");
    const lines = [
      `server_name: nats-${own}`,
      "max_payload: 8388608",
      `http: "127.0.0.1:${httpPort}"`,
      `jetstream { store_dir: ${JSON.stringify(join(directory, "nats"))}, sync_interval: always, max_file_store: ${maxFileStore} }`,
      `cluster { name: flotilla, listen: "127.0.0.1:${routes[own]}", no_advertise: true, routes: [${urls}] }`,
      authorization,
    ];
    writePrivately(file, lines);
    return ["--config", file, "--addr", "127.0.0.1", "--port", String(port)];
  };
  return { name: "nats", scheme: "nats", args };
}
