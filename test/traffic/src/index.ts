export type { Call, Outcome } from "./simulate/call.ts";
export { type Configuration, simulate } from "./simulate/simulate.ts";
