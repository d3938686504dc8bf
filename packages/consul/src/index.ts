export {
  type CatalogEvent,
  CatalogFollower,
  type CatalogFollowerOptions,
  type CatalogProblem,
  type CatalogScope,
} from "./catalog-follower.ts";
export { type ConsulAnswer, ConsulClient, type ConsulClientOptions, type ConsulQuestion } from "./consul-client.ts";
export type { ConsulErrorCode } from "./errors.ts";
export { readCatalog, readDatacenters } from "./read-catalog.ts";
export { Slots } from "./slots.ts";
