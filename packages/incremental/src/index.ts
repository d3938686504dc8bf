export { Graph, type GraphStats, type Observation } from "./graph.ts";
export type { Context, Facet, Finding, InputKey, Provenance, Query, QueryArg } from "./query.ts";
export { Failure } from "./query.ts";
