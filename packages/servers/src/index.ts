export { cacheFolder } from "./cache.ts";
export type { ServerKind } from "./catalog.ts";
export { ServersError, type ServersErrorCode } from "./errors.ts";
export type { FetchOptions } from "./find-server.ts";
export { findServer } from "./find-server.ts";
export { freePort, freePorts } from "./free-port.ts";
export { endGroup, endWithThisProcess } from "./held-directory.ts";
export { type NatsCluster, type NatsClusterOptions, startNatsCluster } from "./nats-cluster.ts";
export { type RedisSentinel, type RedisSentinelOptions, startRedisSentinel } from "./redis-sentinel.ts";
export { type ConsulOptions, startConsul } from "./start-consul.ts";
export {
  type NatsOptions,
  type RedisOptions,
  type RunningServer,
  type StartOptions,
  startNats,
  startRedis,
} from "./start-server.ts";
