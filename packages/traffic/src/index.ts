export { arrivalAt, resolveHost, type Sender, trustDomainOf } from "./arrival.ts";
export type { Call, Outcome } from "./call.ts";
export type { Endpoint } from "./destination.ts";
export type { End, Hop, ResourceName } from "./hop.ts";
export { at, objectsAt, textAt } from "./json.ts";
export { type Configuration, type Meeting, meet, simulate } from "./meet.ts";
export { type Arrival, type ProxyConfiguration, type Trace, type TracedDestination, traceCall } from "./trace.ts";
