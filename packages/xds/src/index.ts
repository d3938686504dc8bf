export { encodeDeltaBody, encodeDeltaTail, readDeltaRequest } from "./delta.ts";
export { Interner } from "./interner.ts";
export { Bodies, checksum, type MessageBody } from "./message-body.ts";
export { type NameSet, nameSet, noNames } from "./name-set.ts";
export { effectiveSet, type Form, type Plan, plan } from "./plan.ts";
export type { ClientRequest, DeltaRequest, RequestError, SotwRequest } from "./request.ts";
export { emptySet, type Resource, type ResourceSet } from "./resource-set.ts";
export { encodeSotwBody, encodeSotwTail, readSotwRequest } from "./sotw.ts";
export {
  type Due,
  type Effect,
  isAnswer,
  newStream,
  type Rejection,
  type StreamEvent,
  type StreamState,
  step,
  type TypeState,
  withInternedNames,
} from "./stream-state.ts";
export type { Subscription } from "./subscription.ts";
export { type Turn, type TurnMessage, type TurnOptions, takeTurn } from "./turn.ts";
export { inSendOrder, isDebugType, rulesOf, shortName } from "./type-rules.ts";
