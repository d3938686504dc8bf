export { default as fc } from "fast-check";
export { type AttackResult, attackAside } from "./attack-thread.ts";
export { measureBeside, residentMib } from "./beside-flood.ts";
export {
  assertBounded,
  type Flood,
  type FloodResult,
  type FloodTarget,
  http2Floods,
  openStreams,
  pipelinedRequests,
  sendFlood,
} from "./http2-flood.ts";
export { createTestAuthority, type KeyPair, type KeyPairRequest, type TestAuthority } from "./key-pair.ts";
export { ocspResponse } from "./ocsp-response.ts";
export { checkAsyncProperty, checkProperty, type PropertyOptions, propertyParameters } from "./property.ts";
export { openSilent } from "./silent-connections.ts";
