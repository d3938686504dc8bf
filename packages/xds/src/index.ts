export type { Resource, ResourceSet } from "./message-body.ts";
export { Bodies, type MessageBody } from "./message-body.ts";
export type { Form, Plan } from "./plan.ts";
export { blamed } from "./plan.ts";
export { overLimit, type RequestLimits } from "./receive.ts";
export type { ClientRequest, DeltaRequest, RequestError, SotwRequest } from "./request.ts";
export { Identities, Interner, SharedStates } from "./sharing.ts";
export { ResourceSlice, SlicedResources } from "./sliced-resources.ts";
export type { Turn, TurnMessage, TurnOptions } from "./stream-state.ts";
export { newStream } from "./stream-state.ts";
export type { Due, Effect, Rejection, StreamEvent, StreamState, TypeState } from "./stream-types.ts";
export { isAnswer } from "./stream-types.ts";
export type { Subscription } from "./subscription.ts";
export { type NameSet, type NameSetKey, nameSet, namesOfKey } from "./subscription.ts";
export { rulesOf, shortName } from "./type-rules.ts";
export {
  encodeDeltaBody,
  encodeDeltaTail,
  encodeSotwBody,
  encodeSotwTail,
  readDeltaRequest,
  readSotwRequest,
} from "./wire.ts";
