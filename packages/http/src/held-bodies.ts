/**
 * Bounds the bytes of bodies that one server holds at a time. A body is held from its first byte to the end of its answer, also while its caller
 * sends it slowly: without a bound, connections times the largest body are what callers can take of the process's memory.
 */
import type { IncomingMessage, ServerResponse } from "node:http";

/** In bytes, of all bodies that have begun and are not answered yet. */
export interface BodyBounds {
  readonly maxPerAddress: number;
  readonly maxInAll: number;
}

interface HeldBody {
  bytes: number;
  readonly address: string;
  /** Set once the body is read: it is refused, and its memory is free. */
  refuse: (() => void) | undefined;
}

/** The bodies of one server by the addresses of their callers. */
export class HeldBodies {
  readonly #bounds: BodyBounds;
  readonly #byAddress = new Map<string, Set<HeldBody>>();
  readonly #byRequest = new WeakMap<IncomingMessage, HeldBody>();
  #bytes = 0;

  constructor(bounds: BodyBounds) {
    this.#bounds = bounds;
  }

  /** Until the response is closed. */
  follow(request: IncomingMessage, response: ServerResponse): void {
    const { remoteAddress: address = "" } = request.socket;
    const body: HeldBody = { bytes: 0, address, refuse: undefined };
    this.#byRequest.set(request, body);
    response.once("close", () => this.#release(body));
    boundsOfRequest.set(request, this);
  }

  /** `refuse` is called once when there is no room for the body, or for another one's: its received part is not held any more. */
  begin(request: IncomingMessage, refuse: () => void): void {
    const body = this.#byRequest.get(request);
    if (body === undefined) return;
    body.refuse = refuse;
    const bodies = this.#byAddress.get(body.address) ?? new Set();
    this.#byAddress.set(body.address, bodies.add(body));
  }

  /** Counts bytes that have come; bodies beyond the bounds are refused, the newest of the address that holds the most. */
  take(request: IncomingMessage, bytes: number): void {
    const body = this.#byRequest.get(request);
    if (body?.refuse === undefined) return;
    body.bytes += bytes;
    this.#bytes += bytes;
    const { maxPerAddress, maxInAll } = this.#bounds;
    if (this.#bytesOf(body.address) > maxPerAddress) this.#refuse(body);
    while (this.#bytes > maxInAll) {
      const victim = this.#newestOfLargest();
      if (victim === undefined) return;
      this.#refuse(victim);
    }
  }

  /** The whole body is there: others may be refused for it, it is not. */
  end(request: IncomingMessage): void {
    const body = this.#byRequest.get(request);
    if (body !== undefined) body.refuse = undefined;
  }

  #bytesOf(address: string): number {
    let bytes = 0;
    for (const body of this.#byAddress.get(address) ?? []) bytes += body.bytes;
    return bytes;
  }

  /** Among those that are still being sent. */
  #newestOfLargest(): HeldBody | undefined {
    let largest: { readonly bytes: number; readonly newest: HeldBody } | undefined;
    for (const [address, bodies] of this.#byAddress) {
      const newest = [...bodies].findLast(({ refuse }) => refuse !== undefined);
      const bytes = this.#bytesOf(address);
      if (newest !== undefined && bytes > (largest?.bytes ?? -1)) largest = { bytes, newest };
    }
    return largest?.newest;
  }

  #refuse(body: HeldBody): void {
    const { refuse } = body;
    this.#release(body);
    refuse?.();
  }

  #release(body: HeldBody): void {
    this.#bytes -= body.bytes;
    body.bytes = 0;
    body.refuse = undefined;
    const bodies = this.#byAddress.get(body.address);
    if (bodies?.delete(body) && bodies.size === 0) this.#byAddress.delete(body.address);
  }
}

const boundsOfRequest = new WeakMap<IncomingMessage, HeldBodies>();

/** Undefined for requests of servers without bounds. */
export function heldBodiesOf(request: IncomingMessage): HeldBodies | undefined {
  return boundsOfRequest.get(request);
}
