/** A real Consul server as a child process, for tests. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { type Plan, type RunningServer, type StartOptions, start } from "./start-server.ts";

export interface ConsulOptions extends StartOptions {
  readonly datacenter?: string;
  /** Port on which servers of other datacenters join; without one there is one datacenter. */
  readonly wanPort?: number;
  /** Ports of such servers on this host. */
  readonly joinWan?: readonly number[];
  /** More of the agent's configuration, such as `acl`. */
  readonly configuration?: Readonly<Record<string, unknown>>;
}

/**
 * One server that elects itself, which takes a moment after it listens; its catalog stays in the directory.
 * @throws ServersError
 */
export function startConsul(options: ConsulOptions): Promise<RunningServer> {
  const { datacenter = "dc1", wanPort = -1, joinWan = [], configuration = {} } = options;
  const plan: Plan = {
    name: "consul",
    scheme: "http",
    args: async (directory, http) => {
      const [server, lan] = [await freePort(), await freePort()];
      const file = join(directory, "consul.json");
      const text = JSON.stringify({
        node_name: `server-${datacenter}`,
        datacenter,
        bind_addr: "127.0.0.1",
        client_addr: "127.0.0.1",
        data_dir: join(directory, "consul"),
        server: true,
        bootstrap_expect: 1,
        disable_update_check: true,
        log_level: "warn",
        performance: { raft_multiplier: 1 },
        limits: { http_max_conns_per_client: 1_000 },
        ports: { http, dns: -1, grpc: -1, grpc_tls: -1, server, serf_lan: lan, serf_wan: wanPort },
        retry_join_wan: joinWan.map((port) => `127.0.0.1:${port}`),
        ...configuration,
      });
      writeFileSync(file, text);
      return ["agent", "-config-file", file];
    },
  };
  return start(plan, options);
}
