/** Several observers as one: each is called, in order. */
import type { StreamObserver } from "./stream-record.ts";

export function joinObservers(...observers: readonly StreamObserver[]): StreamObserver {
  return {
    opened: (stream) => {
      for (const observer of observers) observer.opened?.(stream);
    },
    closed: (stream, reason) => {
      for (const observer of observers) observer.closed?.(stream, reason);
    },
    sent: (stream, typeUrl, receipt, change) => {
      for (const observer of observers) observer.sent?.(stream, typeUrl, receipt, change);
    },
    acknowledged: (stream, typeUrl, receipt) => {
      for (const observer of observers) observer.acknowledged?.(stream, typeUrl, receipt);
    },
    rejected: (stream, typeUrl, rejection, names) => {
      for (const observer of observers) observer.rejected?.(stream, typeUrl, rejection, names);
    },
    health: (stream, healthy, message) => {
      for (const observer of observers) observer.health?.(stream, healthy, message);
    },
  };
}
