/** The contract between the console's page and the service that serves it. */
export type * from "./changes.ts";
export * from "./common.ts";
export type * from "./endpoints.ts";
export type * from "./events.ts";
export type * from "./operations.ts";
export type * from "./overview.ts";
export type * from "./proxies.ts";
export type * from "./request-path.ts";
