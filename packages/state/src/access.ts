/**
 * What each service may do in Redis: the users of its ACL. xds-server is the only service that uses it. The server of `flotilla up`
 * and the files below k8s/ get their users from here.
 */
import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { keys } from "./redis-scripts.ts";

export const storeServices = ["xds-server"] as const;
export type StoreService = (typeof storeServices)[number];

const commands = [
  ...["get", "mget", "set", "del", "scan", "pexpire", "hget", "hgetall", "hset", "hdel", "hlen"],
  ...["multi", "exec", "eval", "ping", "info", "select", "client|setinfo", "client|setname"],
];

const patterns = [keys.entries, keys.about, keys.writer, keys.replica("*"), keys.parts("*")];

/** The rules of a user, without its password, as Redis' ACL has them. */
export function storeRulesOf(service: StoreService): string {
  const allowed: Readonly<Record<StoreService, readonly string[]>> = { "xds-server": commands };
  return [
    ...["resetkeys", "resetchannels", "-@all"],
    ...patterns.map((pattern) => `~${pattern}`),
    ...allowed[service].map((command) => `+${command}`),
  ].join(" ");
}

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
