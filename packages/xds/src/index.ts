export {
  Bodies,
  encodeDeltaBody,
  encodeDeltaTail,
  encodedSlice,
  encodeSotwBody,
  encodeSotwTail,
  type MessageBody,
} from "./message-body.ts";
export type { Form, Plan } from "./plan.ts";
export { blamed } from "./plan.ts";
export { overLimit, type RequestLimits } from "./receive.ts";
export {
  type ClientRequest,
  type DeltaRequest,
  type RequestError,
  readDeltaRequest,
  readSotwRequest,
  type SotwRequest,
} from "./request.ts";
export {
  type FailedResources,
  type Resource,
  type ResourceSet,
  ResourceSlice,
  rulesOf,
  SlicedResources,
  withFormer,
} from "./resource-set.ts";
export { Identities, Interner, SharedStates } from "./sharing.ts";
export type { Turn, TurnMessage, TurnOptions } from "./stream-state.ts";
export { newStream } from "./stream-state.ts";
export type { Due, Effect, Rejection, StreamEvent, StreamState, Subscription, TypeState } from "./stream-types.ts";
export { isAnswer, type NameSet, type NameSetKey, nameSet, namesOfKey, sameNames } from "./stream-types.ts";
