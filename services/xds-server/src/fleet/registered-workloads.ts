/**
 * Reports to service-controller, in a shared bucket, the machines connected here that ask to be registered (AUTO_REGISTER_GROUP) or stand
 * for a WorkloadEntry (WORKLOAD_ENTRY), and the health that they report. The registration itself belongs to no replica: it lasts as long as
 * any of them reports it.
 */
import { randomUUID } from "node:crypto";
import type { Bus } from "@flotilla/bus";
import {
  encodeRegisteredWorkloads,
  localityText,
  metadataText,
  type RegisteredWorkload,
  registrationReportBucket,
  registrationReportTtlMs,
} from "@flotilla/model";
import { delay, Wakeup } from "@flotilla/runtime";
import type { StreamObserver, StreamRecord } from "../serve/stream-record.ts";

const everyMs = 250;
/** Reported again unchanged after this, well before it vanishes. */
const againMs = registrationReportTtlMs / 3;

/** The connected streams of machines that ask to be registered, with the health that they reported last. */
export class RegisteredWorkloads {
  readonly #streams = new Map<string, { readonly stream: StreamRecord; health: RegisteredWorkload["health"] }>();

  /** Woken when a machine connects. */
  readonly connected = new Wakeup();

  readonly observer: StreamObserver = {
    opened: (stream) => {
      if (groupOf(stream) === "" && entryOf(stream) === "") return;
      this.#streams.set(stream.id, { stream, health: undefined });
      this.connected.wake();
    },
    health: ({ id }, healthy, message) => {
      const entry = this.#streams.get(id);
      if (entry !== undefined) entry.health = { healthy, message, atMs: Date.now() };
    },
    closed: ({ id }) => void this.#streams.delete(id),
  };

  list(): readonly RegisteredWorkload[] {
    return [...this.#streams.values()].map(({ stream, health }) => machineOf(stream, health));
  }
}

/** Writes reports until `stop` fires. @throws BusError when a report is not written; the next run writes it. */
export function registrationReports(machines: RegisteredWorkloads): (bus: Bus, stop: AbortSignal) => Promise<void> {
  const id = randomUUID();
  let [reported, reportedAtMs] = ["[]", 0];
  return async (bus, stop) => {
    const values = await bus.keyValue(registrationReportBucket, { ttlMs: registrationReportTtlMs });
    while (!stop.aborted) {
      const present = machines.list();
      const text = JSON.stringify(present);
      const isDue = text !== reported || (present.length > 0 && performance.now() - reportedAtMs > againMs);
      if (isDue && bus.state.connected) {
        await values.put(id, encodeRegisteredWorkloads(present));
        [reported, reportedAtMs] = [text, performance.now()];
      }
      // Labels of machines change without an event; without machines nothing does.
      if (text === "[]" && reported === text) await machines.connected.wait(stop);
      else await delay(everyMs, stop);
    }
  };
}

function groupOf({ proxy }: StreamRecord): string {
  return metadataText(proxy.metadata, "AUTO_REGISTER_GROUP");
}

function entryOf({ proxy }: StreamRecord): string {
  return metadataText(proxy.metadata, "WORKLOAD_ENTRY");
}

function machineOf(stream: StreamRecord, health: RegisteredWorkload["health"]): RegisteredWorkload {
  const { proxy, identities, connectedAtMs } = stream;
  const group = groupOf(stream);
  return {
    key: { namespace: proxy.namespace, group, network: proxy.network, instance: proxy.id },
    // One that asks to be registered gets an entry of its own.
    ...(group === "" && { entry: entryOf(stream) }),
    address: proxy.ipAddresses[0] ?? "",
    locality: localityText(proxy.locality),
    labels: proxy.labels,
    identities,
    connectedAtMs,
    ...(health !== undefined && { health }),
  };
}
