/**
 * Rights of each service in Redis: the users of its ACL. xds-server is the only service that uses it. The server of `flotilla up` and the
 * files below k8s/ get their users from here.
 */
import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { keys } from "./redis-scripts.ts";

/** The services that have a user in Redis. */
export const storeServices = ["xds-server"] as const;
type StoreService = (typeof storeServices)[number];

/** Users with a password: services, replicas that copy from the primary, and Sentinels. */
export const storeUsers = [...storeServices, "replica", "sentinel"] as const;
/** The name of a user in Redis. */
export type StoreUser = (typeof storeUsers)[number];

const commandsOfServices = [
  ...["get", "mget", "set", "del", "scan", "pexpire", "hget", "hgetall", "hset", "hdel", "hlen"],
  ...["multi", "exec", "eval", "ping", "info", "select", "client|setname"],
];

const patterns = [keys.entries, keys.about, keys.writer, keys.replica("*"), keys.parts("*")];

interface Rules {
  readonly keys?: readonly string[];
  readonly channels?: readonly string[];
  readonly commands: readonly string[];
}

/** As Redis' documentation lists them for replicas and Sentinels. */
const onServers: Readonly<Record<StoreUser, Rules>> = {
  "xds-server": { keys: patterns, commands: commandsOfServices },
  replica: { commands: ["psync", "replconf", "ping"] },
  sentinel: {
    channels: ["*"],
    commands: [
      ...["multi", "exec", "slaveof", "replicaof", "ping", "subscribe", "publish", "role", "info", "config|rewrite"],
      ...["client|setname", "client|kill", "script|kill"],
    ],
  },
};

const sentinelQuestions = ["get-master-addr-by-name", "sentinels", "replicas", "slaves", "master", "masters"];

/** Of the Sentinels themselves: users with the right to configure one of them decide which server is the primary. */
const onSentinels: Readonly<Partial<Record<StoreUser, Rules>>> = {
  "xds-server": {
    channels: ["*"],
    commands: [
      ...["ping", "info", "subscribe", "psubscribe", "client|setname"],
      ...sentinelQuestions.map((question) => `sentinel|${question}`),
    ],
  },
  sentinel: {
    channels: ["*"],
    commands: [
      ...["ping", "info", "subscribe", "publish", "role", "client|setname"],
      ...["is-master-down-by-addr", ...sentinelQuestions].map((question) => `sentinel|${question}`),
    ],
  },
};

/** The rules of a user, without its password, as Redis' ACL has them; undefined where there is no such user. */
export function storeRulesOf(user: StoreUser, on: "server" | "sentinel" = "server"): string | undefined {
  const rules = (on === "server" ? onServers : onSentinels)[user];
  if (rules === undefined) return undefined;
  return [
    ...["resetkeys", "resetchannels", "-@all"],
    ...(rules.keys ?? []).map((pattern) => `~${pattern}`),
    ...(rules.channels ?? []).map((pattern) => `&${pattern}`),
    ...rules.commands.map((command) => `+${command}`),
  ].join(" ");
}

/** Users for Redis' configuration, and the address of the server for each of them. */
export interface StoreCredentials {
  /** Lines of Redis' configuration; they hold hashes of the passwords. */
  readonly users: readonly string[];
  /** The server's address for a service, which names the file of its password. */
  urlFor(service: StoreService, url: string): string;
}

/** New ones, in place of those that the directory had, for a Redis that is started beside the services. */
export function createStoreCredentials(directory: string): StoreCredentials {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const fileOf = (service: StoreService): string => join(directory, `${service}.password`);
  const users = storeServices.map((service) => {
    const password = randomBytes(32).toString("hex");
    writeFileSync(fileOf(service), password, { mode: 0o600 });
    const hash = createHash("sha256").update(password).digest("hex");
    return `user ${service} reset on #${hash} ${storeRulesOf(service)}`;
  });
  return {
    users,
    urlFor: (service, url) => {
      const own = new URL(url);
      own.username = service;
      own.searchParams.set("passwordFile", fileOf(service));
      return own.href;
    },
  };
}
