/**
 * Shares each turn of the event loop among the bodies that a server reads. In one turn libuv reads up to 2 MiB from a socket and accepts one
 * connection: endless bodies would make every turn long, and connections of other callers would be accepted seconds late (decision 0380).
 */
import type { IncomingMessage } from "node:http";

/** Bytes of all bodies together. A piece larger than this is still read whole. */
const bytesPerTurn = 256 * 1024;
/** Number of waiting bodies that are resumed in each turn. */
const resumedPerTurn = 4;
/** Milliseconds between two reads of dropped bodies: no answer depends on them, and turns without a body stay short. */
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

  /** Pauses a body whose received bytes are dropped. */
  drop(request: IncomingMessage): void {
    request.pause();
    this.#dropped.add(request);
    this.#nextDrop();
  }

  /** Removes a body that has ended or is no longer read. */
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
