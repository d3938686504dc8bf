/** A Redis or Valkey primary with replicas and Sentinels on this host, for tests of a failover. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { type Plan, type RunningServer, type StartOptions, start, writePrivately } from "./start-server.ts";

/** Number of servers, and after which silence a primary is replaced. */
export interface RedisSentinelOptions extends Omit<StartOptions, "port"> {
  /** Servers, and as many Sentinels. */
  readonly size: number;
  /** How long a silent primary counts as alive. */
  readonly downAfterMs: number;
  readonly access?: SentinelAccess;
}

/** Access rules of users. Without them everybody may do everything. */
interface SentinelAccess {
  /** Lines for the configuration of servers and of Sentinels, one a user. The default user has to be allowed to PING. */
  readonly servers: readonly string[];
  readonly sentinels: readonly string[];
  /** Accounts of replicas at their primary, and of Sentinels at servers and at each other. */
  readonly replica: Account;
  readonly sentinel: Account;
}

interface Account {
  readonly user: string;
  readonly password: string;
}

/** A running primary with replicas and Sentinels; disposing of it ends all processes. */
export interface RedisSentinel extends AsyncDisposable {
  /** Of the form `redis+sentinel://…`. */
  readonly url: string;
  /** The first one is the primary until a failover. */
  readonly servers: readonly RunningServer[];
  readonly sentinels: readonly RunningServer[];
  /** Starts server `i` again on the port that it had, as it was started first: Sentinel makes it a replica when it is not the primary. */
  restart(i: number): Promise<void>;
}

const primaryName = "flotilla";
const ready = { question: "PING\r\n", answer: "+PONG" };

/** @throws ServersError */
export async function startRedisSentinel(options: RedisSentinelOptions): Promise<RedisSentinel> {
  const { size, downAfterMs, directory, access, ...find } = options;
  const folder = (name: string): string => {
    const own = join(directory, name);
    mkdirSync(own, { recursive: true });
    return own;
  };
  const ports: number[] = [];
  for (let i = 0; i < size; i++) ports.push(await freePort());
  const [primary = 0] = ports;
  const startServer = (i: number): Promise<RunningServer> => {
    const port = ports[i] ?? 0;
    return start(serverPlan(i === 0 ? undefined : primary, access), { ...find, directory: folder(`redis-${i}`), port });
  };
  const servers = await Promise.all(ports.map((_, i) => startServer(i)));
  const plan = sentinelPlan(primary, { quorum: Math.floor(size / 2) + 1, downAfterMs, access });
  const sentinels = await Promise.all(
    ports.map((_, i) => start(plan, { ...find, directory: folder(`sentinel-${i}`) })),
  );
  return {
    url: `redis+sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(",")}/${primaryName}`,
    servers,
    sentinels,
    restart: async (i) => {
      servers[i] = await startServer(i);
    },
    [Symbol.asyncDispose]: async () => {
      // Sentinels first, so that none of them begins a failover meanwhile.
      await Promise.all(sentinels.map((sentinel) => sentinel[Symbol.asyncDispose]()));
      await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
    },
  };
}

function serverPlan(primary: number | undefined, access: SentinelAccess | undefined): Plan {
  const args = (directory: string, port: number) => {
    const file = join(directory, "redis.conf");
    const { user = "", password = "" } = access?.replica ?? {};
    if (access !== undefined) writePrivately(file, [...access.servers, `masteruser ${user}`, `masterauth ${password}`]);
    const common = ["--bind", "127.0.0.1", "--port", String(port), "--dir", directory, "--appendonly", "yes"];
    const quick = ["--save", "", "--repl-diskless-sync-delay", "0"];
    const configured = access === undefined ? [] : [file];
    return [
      ...configured,
      ...common,
      ...quick,
      ...(primary === undefined ? [] : ["--replicaof", "127.0.0.1", String(primary)]),
    ];
  };
  return { name: "redis", scheme: "redis", ready, args };
}

function sentinelPlan(
  primary: number,
  {
    quorum,
    downAfterMs,
    access,
  }: { readonly quorum: number; readonly downAfterMs: number; readonly access: SentinelAccess | undefined },
): Plan {
  const args = (directory: string, port: number) => {
    const file = join(directory, "sentinel.conf");
    const lines = [
      `port ${port}`,
      "bind 127.0.0.1",
      `dir ${directory}`,
      `sentinel monitor ${primaryName} 127.0.0.1 ${primary} ${quorum}`,
      `sentinel down-after-milliseconds ${primaryName} ${downAfterMs}`,
      `sentinel failover-timeout ${primaryName} 5000`,
    ];
    writePrivately(file, [...lines, ...(access === undefined ? [] : accessLines(access))]);
    return [file, "--sentinel"];
  };
  return { name: "redis", scheme: "redis", ready, args };
}

function accessLines({ sentinels, sentinel: { user, password } }: SentinelAccess): readonly string[] {
  return [
    ...sentinels,
    `sentinel auth-user ${primaryName} ${user}`,
    `sentinel auth-pass ${primaryName} ${password}`,
    `sentinel sentinel-user ${user}`,
    `sentinel sentinel-pass ${password}`,
  ];
}
