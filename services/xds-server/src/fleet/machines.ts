/**
 * Tells service-controller, in a shared bucket, which machines that ask to be registered (AUTO_REGISTER_GROUP) are connected here
 * and what they say of their health. The registration itself belongs to no replica: it lasts as long as any of them says so.
 */
import { randomUUID } from "node:crypto";
import type { Bus } from "@flotilla/bus";
import {
  encodeMachines,
  localityText,
  type Machine,
  machineReportBucket,
  machineReportTtlMs,
  metadataText,
} from "@flotilla/model";
import { delay, type Logger } from "@flotilla/runtime";
import type { StreamObserver, StreamRecord } from "../serve/stream-record.ts";

export interface MachineReportOptions {
  readonly streams: () => readonly StreamRecord[];
  readonly health: MachineHealth;
  readonly log: Logger;
}

const everyMs = 250;
/** Told again unchanged after this, well before it vanishes. */
const againMs = machineReportTtlMs / 3;

/** What connected machines said of themselves last. */
export class MachineHealth {
  readonly #last = new Map<string, NonNullable<Machine["health"]>>();

  readonly observer: StreamObserver = {
    health: ({ id }, healthy, message) => void this.#last.set(id, { healthy, message, atMs: Date.now() }),
    closed: ({ id }) => void this.#last.delete(id),
  };

  of({ id }: StreamRecord): Machine["health"] {
    return this.#last.get(id);
  }
}

/** Runs until `stop` fires. A report that cannot be told is told again. */
export async function publishMachines(
  bus: Bus,
  { streams, health, log }: MachineReportOptions,
  stop: AbortSignal,
): Promise<void> {
  const values = await bus.keyValue(machineReportBucket, { ttlMs: machineReportTtlMs });
  const id = randomUUID();
  let [told, toldAtMs] = ["[]", 0];
  while (!stop.aborted) {
    const machines = streams().flatMap((stream) => machineOf(stream, health) ?? []);
    const text = JSON.stringify(machines);
    const isDue = text !== told || (machines.length > 0 && performance.now() - toldAtMs > againMs);
    if (isDue && bus.state.connected) {
      try {
        await values.put(id, encodeMachines(machines));
        [told, toldAtMs] = [text, performance.now()];
      } catch (error) {
        log.warn("the machines connected here are not told", { error });
      }
    }
    await delay(everyMs, stop);
  }
}

/** Undefined for clients that do not ask to be registered. */
function machineOf(stream: StreamRecord, health: MachineHealth): Machine | undefined {
  const { proxy, identities, connectedAtMs } = stream;
  const group = metadataText(proxy.metadata, "AUTO_REGISTER_GROUP");
  if (group === "") return undefined;
  const said = health.of(stream);
  return {
    key: { namespace: proxy.namespace, group, network: proxy.network, instance: proxy.id },
    address: proxy.ipAddresses[0] ?? "",
    locality: localityText(proxy.locality),
    labels: proxy.labels,
    identities,
    connectedAtMs,
    ...(said !== undefined && { health: said }),
  };
}
