/**
 * Shares each turn of the event loop among the bodies that a server reads. libuv takes up to 2 MiB of a socket in one turn, and accepts one
 * connection: callers that send without end would make every turn long, and connections of others would be accepted seconds late.
 */
import type { IncomingMessage } from "node:http";

/** Of all bodies together; a body that comes in larger pieces gets one of them. */
const bytesPerTurn = 256 * 1024;
/** Bodies that wait for a turn and are read on in the next one. */
const resumedPerTurn = 4;
/** Between two turns of bodies that are dropped, in milliseconds: no answer waits for them, and turns without a body are short. */
const droppedEveryMs = 5;

/** The bodies of one server; those beyond a turn's share wait for a later one, in order. */
export class BodyPace {
  readonly #waiting = new Set<IncomingMessage>();
  readonly #dropped = new Set<IncomingMessage>();
  #left = bytesPerTurn;
  #isDue = false;
  #isDropDue = false;

  /** Counts bytes that have come and are kept. */
  take(request: IncomingMessage, bytes: number): void {
    this.#left -= bytes;
    if (this.#left <= 0) {
      request.pause();
      this.#waiting.add(request);
    }
    this.#nextTurn();
  }

  /** Bytes have come that are not kept. */
  drop(request: IncomingMessage): void {
    request.pause();
    this.#dropped.add(request);
    this.#nextDrop();
  }

  /** The body has ended, or is not read any more. */
  leave(request: IncomingMessage): void {
    this.#waiting.delete(request);
    this.#dropped.delete(request);
  }

  #nextTurn(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(() => {
      this.#isDue = false;
      this.#left = bytesPerTurn;
      resumeSome(this.#waiting);
      if (this.#waiting.size > 0) this.#nextTurn();
    });
  }

  #nextDrop(): void {
    if (this.#isDropDue) return;
    this.#isDropDue = true;
    setTimeout(() => {
      this.#isDropDue = false;
      resumeSome(this.#dropped);
      if (this.#dropped.size > 0) this.#nextDrop();
    }, droppedEveryMs);
  }
}

function resumeSome(paused: Set<IncomingMessage>): void {
  for (const request of [...paused].slice(0, resumedPerTurn)) {
    paused.delete(request);
    request.resume();
  }
}

const paceOfRequest = new WeakMap<IncomingMessage, BodyPace>();

/** Once for each request. */
export function followPace(request: IncomingMessage, pace: BodyPace): void {
  paceOfRequest.set(request, pace);
  request.once("close", () => pace.leave(request));
}

/** Undefined for requests of other servers. */
export function paceOf(request: IncomingMessage): BodyPace | undefined {
  return paceOfRequest.get(request);
}
