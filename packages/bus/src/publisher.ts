/**
 * Publishes a controller's state: only what differs from what the stream already holds, so that a
 * restart with nothing changed publishes nothing. One publisher owns the keys it has published.
 */
import { randomUUID } from "node:crypto";
import type { Cause, Change } from "@flotilla/model";
import type { Logger } from "@flotilla/runtime";
import type { Bus } from "./bus.ts";
import { fingerprintOf, fromMessage, publisherOf, storedFingerprint, toMessage } from "./envelope.ts";
import type { Seal } from "./seal.ts";
import { filters, subjectOf, syncSubject } from "./topics.ts";

export interface PublisherOptions {
  readonly bus: Bus;
  /** `config-controller`, `service-controller` … */
  readonly publisher: string;
  readonly seal: Seal | undefined;
  readonly log: Logger;
  readonly nowMs: () => number;
}

export interface Occasion {
  /** When the source changed; now, when the source cannot tell. */
  readonly eventTimeMs?: number;
  readonly urgent?: boolean;
}

export interface Publisher {
  /**
   * The source's whole state: publishes the differences, deletes what this publisher published and
   * the source no longer has, then says that everything is told. Resolves to the number of changes.
   */
  synchronize(state: readonly Change[], occasion?: Occasion): Promise<number>;
  /** Changes that belong together; equal ones are left out. Resolves to the number published. */
  publish(changes: readonly Change[], occasion?: Occasion): Promise<number>;
}

export function createPublisher({ bus, publisher, seal, log, nowMs }: PublisherOptions): Publisher {
  const epoch = randomUUID();
  /** Subject → fingerprint of what the stream holds of ours; tombstones are left out. */
  const held = new Map<string, { readonly fingerprint: string; readonly tombstone: Change }>();
  let revision = 0;
  let loading: Promise<void> | undefined;

  const publish = async (
    changes: readonly Change[],
    { eventTimeMs, urgent = false }: Occasion = {},
  ): Promise<number> => {
    await loaded();
    const fresh = changes.filter((change) => differs(change));
    if (fresh.length === 0) return 0;
    revision++;
    const cause: Cause = { publisher, epoch, revision, eventTimeMs: eventTimeMs ?? nowMs(), ...(urgent && { urgent }) };
    const group = { id: `${epoch}/${revision}`, size: fresh.length };
    await bus.publish(fresh.map((change) => toMessage(change, cause, group, seal)));
    for (const change of fresh) remember(change);
    log.debug("published", { changes: fresh.length, revision, urgent });
    return fresh.length;
  };

  const loaded = (): Promise<void> => {
    loading ??= load();
    return loading;
  };

  const load = async () => {
    for (const message of await bus.lastValues(filters.everything)) {
      if (publisherOf(message) !== publisher || message.subject === syncSubject(publisher)) continue;
      try {
        const { change } = fromMessage(message, seal);
        if (change.op === "put")
          held.set(message.subject, { fingerprint: storedFingerprint(message), tombstone: tombstone(change) });
      } catch (error) {
        // Sealed with another key, or of a form this version does not know: it is published again.
        log.warn("a stored change cannot be read", { subject: message.subject, error });
      }
    }
  };

  const differs = (change: Change): boolean => {
    const known = held.get(subjectOf(change));
    if (change.op === "delete") return known !== undefined;
    return known?.fingerprint !== fingerprintOf(change, seal);
  };

  const remember = (change: Change): void => {
    if (change.op === "delete") held.delete(subjectOf(change));
    else held.set(subjectOf(change), { fingerprint: fingerprintOf(change, seal), tombstone: tombstone(change) });
  };

  return {
    publish,
    synchronize: async (state, occasion) => {
      await loaded();
      const subjects = new Set(state.map(subjectOf));
      const vanished = [...held]
        .filter(([subject]) => !subjects.has(subject))
        .map(([, { tombstone: change }]) => change);
      const count = await publish([...state, ...vanished], occasion);
      const payload = new TextEncoder().encode(JSON.stringify({ publisher, epoch }));
      await bus.publish([{ subject: syncSubject(publisher), payload }]);
      return count;
    },
  };
}

function tombstone({ type, key }: Change): Change {
  return { type, op: "delete", key } as Change;
}
