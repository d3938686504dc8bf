export { Graph, type GraphStats, type Observation } from "./graph.ts";
export {
  type Context,
  type Facet,
  type Finding,
  type InputKey,
  type Query,
  type QueryArg,
  shallowEqual,
} from "./query.ts";
