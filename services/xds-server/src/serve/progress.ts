/**
 * How far one stream is: what was sent and answered last for each type, which changes made the rest stale, and up to which position
 * in the fleet's sequence its client has answered everything.
 * How long its next push waits for the answer to the last.
 */

import type { AppliedSet } from "@flotilla/model";
import { typeUrl } from "@flotilla/proto";
import { isAnswer, type StreamState, type TurnMessage } from "@flotilla/xds";
import type { DeliveryTracker } from "./deliveries.ts";
import type { EncodedMessage } from "./message-cache.ts";
import { Receipts } from "./receipts.ts";
import type { StreamContext } from "./stream-context.ts";
import type { Receipt, TypeRecord } from "./stream-record.ts";

export class Progress {
  readonly #context: Pick<StreamContext, "source" | "records">;
  readonly #connectedAtMs: number;
  readonly #receipts: Receipts;
  readonly #causes = new StaleCauses();
  readonly #owed: DeliveryTracker;
  #answeredAt = 0;
  #isOver = false;

  constructor(context: Pick<StreamContext, "source" | "records" | "deliveries">, connectedAtMs: number) {
    this.#context = context;
    this.#connectedAtMs = connectedAtMs;
    this.#receipts = new Receipts(context.records);
    this.#owed = context.deliveries.tracker();
  }

  /** As debug pages show it. */
  types(state: StreamState): ReadonlyMap<string, TypeRecord> {
    return this.#receipts.view(state, { atMs: this.#connectedAtMs, position: this.#context.source.position });
  }

  acknowledgedVersion(typeUrl: string, state: StreamState): string | undefined {
    return this.#receipts.acknowledgedVersion(typeUrl, state);
  }

  /** The client has accepted or refused all that follows from the changes up to here; a lower bound while something is under way. */
  answeredPosition({ types }: StreamState): number {
    if (this.#isOver || types.size === 0) return this.#answeredAt;
    for (const { due, outstanding } of types.values())
      if (due !== undefined || outstanding.length > 0) return this.#answeredAt;
    return this.#context.source.position;
  }

  /** Of the last nonce used for the type, and the position of what was sent with it; 0 when nothing was. */
  last(typeUrl: string): { readonly serial: number; readonly position: number } {
    return { serial: this.#receipts.lastSerial(typeUrl), position: this.#receipts.lastPosition(typeUrl) };
  }

  /** A change concerns the type; `state` is that after it. */
  stale(typeUrl: string, { types }: StreamState): void {
    this.#causes.note(typeUrl, this.#context.source.latest);
    if (types.get(typeUrl)?.due !== undefined) this.#owed.expect(typeUrl);
  }

  sent({ typeUrl, version, body, again }: TurnMessage, message: EncodedMessage, bytes: number): Receipt {
    // What is held back has yet to come.
    if (!again) this.#owed.sent(typeUrl);
    const { source, records } = this.#context;
    const [applied, resources] = [this.#causes.take(typeUrl), body.resources.length];
    const { position } = source;
    const receipt = records.receipt(message, { version, atMs: Date.now(), position, applied, resources, bytes });
    this.#receipts.sent(typeUrl, message.serial, receipt);
    return receipt;
  }

  /** A turn has looked at what was due; what no longer is and was not sent has changed nothing. */
  looked(state: StreamState, hasSent: boolean): void {
    const isDue = (typeUrl: string) => state.types.get(typeUrl)?.due !== undefined;
    this.#owed.settled(isDue);
    this.#causes.settled(isDue);
    if (!hasSent) this.#answeredAt = this.answeredPosition(state);
  }

  /** The client took the message with the nonce: its receipt, when it is the last one. */
  acknowledged(typeUrl: string, nonce: string, state: StreamState): Receipt | undefined {
    const receipt = this.#receipts.acknowledged(typeUrl, nonce);
    this.#answered(typeUrl, state);
    return receipt;
  }

  rejected(typeUrl: string, state: StreamState): void {
    this.#answered(typeUrl, state);
  }

  /** The client no longer wants the type. */
  forget(typeUrl: string): void {
    this.#receipts.forget(typeUrl);
    this.#causes.forget(typeUrl);
    this.#owed.forget(typeUrl);
  }

  /** The client is gone: nothing is waited for. */
  end(): void {
    this.#isOver = true;
    this.#owed.forget();
  }

  #answered(typeUrl: string, state: StreamState): void {
    this.#answeredAt = this.answeredPosition(state);
    this.#owed.answered(typeUrl);
  }
}

/** Which changes made a type of one stream stale, until that is sent or found to be nothing. */
class StaleCauses {
  /** Kept per type, as what is stale once is so again. */
  readonly #byType = new Map<string, AppliedSet | undefined>();

  note(typeUrl: string, applied: AppliedSet | undefined): void {
    if (applied !== undefined) this.#byType.set(typeUrl, applied);
  }

  /** The last of them, for what is sent now. */
  take(typeUrl: string): AppliedSet | undefined {
    const applied = this.#byType.get(typeUrl);
    if (applied !== undefined) this.#byType.set(typeUrl, undefined);
    return applied;
  }

  forget(typeUrl: string): void {
    this.#byType.delete(typeUrl);
  }

  /** What was looked at and found to be as before is not the cause of what comes later. */
  settled(isDue: (typeUrl: string) => boolean): void {
    for (const [typeUrl, applied] of this.#byType)
      if (applied !== undefined && !isDue(typeUrl)) this.#byType.set(typeUrl, undefined);
  }
}

/** A message of these may take a client long: pushes meanwhile would only queue there, and all of them fit into one. */
const pacedTypes: ReadonlySet<string> = new Set([
  typeUrl.cluster,
  typeUrl.listener,
  typeUrl.route,
  typeUrl.scopedRoute,
]);

/** Pushes in the client's own pace: the next one of a type leaves when the last one is answered, or after a while without an answer. */
export class Pacing {
  readonly #waitMs: number;
  readonly #sentAtMs = new Map<string, number>();

  constructor(waitMs: number) {
    this.#waitMs = waitMs;
  }

  sent(type: string, nowMs: number): void {
    if (pacedTypes.has(type)) this.#sentAtMs.set(type, nowMs);
  }

  /** When the next push may leave although nothing is answered until then; undefined: something is due that waits for no answer. */
  waitsUntil({ types }: StreamState, nowMs: number): number | undefined {
    let until: number | undefined;
    for (const [type, { due, outstanding }] of types) {
      if (due === undefined) continue;
      const endMs = (this.#sentAtMs.get(type) ?? Number.NEGATIVE_INFINITY) + this.#waitMs;
      if (isAnswer(due) || outstanding.length === 0 || endMs <= nowMs) return undefined;
      until = Math.min(until ?? endMs, endMs);
    }
    return until;
  }
}
