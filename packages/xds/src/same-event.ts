/** Whether two events do the same to the same state. Cheap for what many streams meet alike; others may be called different. */
import { type ClientRequest, isDelta } from "./request.ts";
import type { StreamEvent } from "./stream-types.ts";

export function sameEvent(a: StreamEvent, b: StreamEvent): boolean {
  switch (a.type) {
    case "request":
      return b.type === "request" && sameRequest(a.request, b.request);
    case "stale":
    case "unserved":
      return b.type === a.type && b.typeUrl === a.typeUrl;
    case "settled":
      return b.type === "settled" && b.set === a.set && b.typeUrl === a.typeUrl;
    case "sent": {
      if (b.type !== "sent" || b.set !== a.set || b.body !== a.body) return false;
      return b.nonce === a.nonce && b.typeUrl === a.typeUrl && b.again === a.again;
    }
  }
}

function sameRequest(a: ClientRequest, b: ClientRequest): boolean {
  if (a === b) return true;
  if (a.typeUrl !== b.typeUrl || a.nonce !== b.nonce || a.error !== undefined || b.error !== undefined) return false;
  if (!isDelta(a)) return !isDelta(b) && a.version === b.version && sameTexts(a.names, b.names);
  if (!isDelta(b) || a.held.size > 0 || b.held.size > 0) return false;
  return sameTexts(a.subscribe, b.subscribe) && sameTexts(a.unsubscribe, b.unsubscribe);
}

function sameTexts(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, index) => text === b[index]);
}
