/**
 * Bounds the bytes of answers that one server holds for callers that read slowly or not at all: without a bound, connections times the largest
 * page are what callers can take of the process's memory.
 */
import type { ServerResponse } from "node:http";

/** In bytes, of all answers that are not taken yet; each may be exceeded by one answer. */
export interface AnswerBounds {
  readonly maxPerAddress: number;
  readonly maxInAll: number;
  /** An answer of which nothing is taken for so long ends with its connection, in milliseconds. */
  readonly takeWithinMs?: number;
}

interface HeldAnswer {
  bytes: number;
  readonly response: ServerResponse;
}

const defaultTakeWithinMs = 30_000;
/** A smaller answer is not counted: probes of an address that holds all its bytes are answered, and connections bound the rest. */
const smallBytes = 64 * 1024;

/** The answers of one server by the addresses of their callers, the oldest first. */
export class HeldAnswers {
  readonly #bounds: AnswerBounds;
  readonly #byAddress = new Map<string, Set<HeldAnswer>>();
  #bytes = 0;

  constructor(bounds: AnswerBounds) {
    this.#bounds = bounds;
  }

  /** To be called before the answer is made. */
  follow(response: ServerResponse): void {
    answersOfResponse.set(response, this);
  }

  /** An address that holds nothing has room for one answer, whatever its size. */
  hasRoom(address: string): boolean {
    const bytes = this.#bytesOf(address);
    return bytes === 0 || (bytes < this.#bounds.maxPerAddress && this.#bytes < this.#bounds.maxInAll);
  }

  /**
   * Counts an answer until it is taken. False when its address has no room for it. The first answer of an address takes its room beyond the bytes in
   * all from the oldest answers of the address that holds the most: those are cut off.
   */
  hold(response: ServerResponse, bytes: number): boolean {
    const { maxInAll, takeWithinMs = defaultTakeWithinMs } = this.#bounds;
    const address = response.socket?.remoteAddress ?? "";
    if (bytes > smallBytes) {
      if (!this.hasRoom(address)) return false;
      const isFirst = this.#bytesOf(address) === 0;
      const answer: HeldAnswer = { bytes, response };
      this.#byAddress.set(address, (this.#byAddress.get(address) ?? new Set()).add(answer));
      this.#bytes += bytes;
      response.once("close", () => this.#release(address, answer));
      while (isFirst && this.#bytes > maxInAll) if (!this.#cutOldest(answer)) break;
    }
    response.setTimeout(takeWithinMs, () => response.destroy());
    return true;
  }

  #bytesOf(address: string): number {
    let bytes = 0;
    for (const answer of this.#byAddress.get(address) ?? []) bytes += answer.bytes;
    return bytes;
  }

  #cutOldest(spared: HeldAnswer): boolean {
    let largest: { readonly bytes: number; readonly address: string; readonly answer: HeldAnswer } | undefined;
    for (const [address, answers] of this.#byAddress) {
      const oldest = [...answers].find((answer) => answer !== spared);
      const bytes = this.#bytesOf(address);
      if (oldest !== undefined && bytes > (largest?.bytes ?? -1)) largest = { bytes, address, answer: oldest };
    }
    if (largest === undefined) return false;
    this.#release(largest.address, largest.answer);
    largest.answer.response.destroy();
    return true;
  }

  #release(address: string, answer: HeldAnswer): void {
    this.#bytes -= answer.bytes;
    answer.bytes = 0;
    const answers = this.#byAddress.get(address);
    if (answers?.delete(answer) && answers.size === 0) this.#byAddress.delete(address);
  }
}

const answersOfResponse = new WeakMap<ServerResponse, HeldAnswers>();

/** Undefined for answers of servers without bounds. */
export function heldAnswersOf(response: ServerResponse): HeldAnswers | undefined {
  return answersOfResponse.get(response);
}
