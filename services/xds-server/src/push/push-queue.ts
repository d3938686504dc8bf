/**
 * Whose turn it is to be written to. A stream waits here at most once, whatever changes meanwhile; urgent ones go first, all others in
 * order of arrival; work is cut into slices so that the event loop stays free; and only so many messages are on their way to the network
 * at a time. A client that does not read gives its place back.
 * Pushes of one stream in its client's pace. Time and deadlines as this stage sees them, so that tests can set them.
 */
import { typeUrl } from "@flotilla/proto";
import { isAnswer, type StreamState } from "@flotilla/xds";

export type Urgency = "urgent" | "normal";

export interface Pushable {
  /**
   * Writes one message if there is one to write, and returns its bytes. `flushed` is called once, later, when it has left for
   * the network or never will.
   */
  push(flushed: () => void): number | undefined;
}

/** The scheduler as streams use it. */
export interface PushScheduler {
  enqueue(stream: Pushable, urgency: Urgency): void;
  remove(stream: Pushable): void;
}

export interface PushQueueOptions {
  readonly clock: PushClock;
  readonly maxConcurrent: number;
  readonly maxBytesInFlight: number;
  /** After this a message that has not left no longer counts: its client holds back no other stream. */
  readonly stallMs: number;
  readonly sliceMs: number;
  /** Called with how long a stream waited for its turn, in milliseconds. */
  readonly onTurn?: (waitedMs: number) => void;
}

export const defaultPushLimits = {
  maxConcurrent: 256,
  maxBytesInFlight: 64 * 1024 * 1024,
  stallMs: 100,
  sliceMs: 10,
} as const;

export class PushQueue implements PushScheduler {
  readonly #options: PushQueueOptions;
  /** Streams with the time they came. */
  readonly #urgent = new Map<Pushable, number>();
  readonly #normal = new Map<Pushable, number>();
  readonly #stalls: Deadlines<Flight>;
  #inFlight = 0;
  #bytes = 0;
  #stalled = 0;
  #isScheduled = false;

  constructor(options: PushQueueOptions) {
    const { clock, stallMs: limitMs } = options;
    this.#options = options;
    this.#stalls = new Deadlines({ clock, limitMs, onLate: (flight) => this.#stall(flight) });
  }

  enqueue(stream: Pushable, urgency: Urgency): void {
    const since = this.#urgent.get(stream) ?? this.#normal.get(stream) ?? this.#options.clock.now();
    if (urgency === "urgent") {
      this.#normal.delete(stream);
      this.#urgent.set(stream, since);
    } else if (!this.#urgent.has(stream)) {
      this.#normal.set(stream, since);
    }
    this.#schedule();
  }

  remove(stream: Pushable): void {
    this.#urgent.delete(stream);
    this.#normal.delete(stream);
  }

  /** Streams that wait, messages on their way, messages whose client does not read. */
  get depth(): { readonly waiting: number; readonly inFlight: number; readonly stalled: number } {
    return { waiting: this.#urgent.size + this.#normal.size, inFlight: this.#inFlight, stalled: this.#stalled };
  }

  #schedule(): void {
    if (this.#isScheduled || !this.#mayGoOn()) return;
    this.#isScheduled = true;
    this.#options.clock.soon(() => {
      this.#isScheduled = false;
      this.#slice();
    });
  }

  #mayGoOn(): boolean {
    const { maxConcurrent, maxBytesInFlight } = this.#options;
    const hasWork = this.#urgent.size + this.#normal.size > 0;
    return hasWork && this.#inFlight < maxConcurrent && this.#bytes < maxBytesInFlight;
  }

  #slice(): void {
    const { clock, sliceMs } = this.#options;
    const end = clock.now() + sliceMs;
    while (this.#mayGoOn()) {
      const stream = this.#take();
      if (stream === undefined) return;
      this.#push(stream);
      if (clock.now() >= end) break;
    }
    this.#schedule();
  }

  #take(): Pushable | undefined {
    for (const lane of [this.#urgent, this.#normal]) {
      for (const [stream, since] of lane) {
        lane.delete(stream);
        this.#options.onTurn?.(this.#options.clock.now() - since);
        return stream;
      }
    }
    return undefined;
  }

  #push(stream: Pushable): void {
    const flight: Flight = { bytes: 0 };
    const bytes = stream.push(() => this.#land(flight));
    if (bytes === undefined) return;
    flight.bytes = bytes;
    this.#inFlight++;
    this.#bytes += bytes;
    this.#stalls.begin(flight);
  }

  #land(flight: Flight): void {
    if (this.#stalls.done(flight)) this.#release(flight);
    else this.#stalled--;
  }

  #stall(flight: Flight): void {
    this.#stalled++;
    this.#release(flight);
  }

  #release({ bytes }: Flight): void {
    this.#inFlight--;
    this.#bytes -= bytes;
    this.#schedule();
  }
}

/** A message on its way. */
interface Flight {
  bytes: number;
}

export interface PushClock {
  /** Milliseconds; monotonic. */
  now(): number;
  /** How long the process has worked until now, in milliseconds, without waits. */
  worked(): number;
  /** After pending IO. */
  soon(task: () => void): void;
  after(ms: number, task: () => void): { cancel(): void };
}

/**
 * Of the main thread. Older versions of Node measure the time of its event loop only, including the time that other processes had of the
 * processor meanwhile.
 */
function worked(): number {
  if (process.threadCpuUsage === undefined) return performance.eventLoopUtilization().active;
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

export const systemClock: PushClock = {
  now: () => performance.now(),
  worked,
  soon: (task) => void setImmediate(task),
  after: (ms, task) => {
    // Tasks that wait for time alone keep no process alive.
    const timer = setTimeout(task, ms).unref();
    return { cancel: () => clearTimeout(timer) };
  },
};

/** Calls back for what is not done within a time that is the same for all. Nearly everything is, so there is one timer, and it rarely runs. */
export interface DeadlinesOptions<Key> {
  readonly clock: Pick<PushClock, "now" | "after">;
  readonly limitMs: number;
  readonly onLate: (key: Key) => void;
}

export class Deadlines<Key> {
  readonly #options: DeadlinesOptions<Key>;
  /** When each was begun, oldest first. */
  readonly #begun = new Map<Key, number>();
  #isArmed = false;

  constructor(options: DeadlinesOptions<Key>) {
    this.#options = options;
  }

  begin(key: Key): void {
    this.#begun.delete(key); // to the end
    this.#begun.set(key, this.#options.clock.now());
    this.#arm();
  }

  /** False: it was reported as late. */
  done(key: Key): boolean {
    return this.#begun.delete(key);
  }

  #arm(): void {
    if (this.#isArmed) return;
    const [oldest] = this.#begun.values();
    if (oldest === undefined) return;
    this.#isArmed = true;
    const { clock, limitMs } = this.#options;
    clock.after(Math.max(1, oldest + limitMs - clock.now()), () => {
      this.#isArmed = false;
      this.#look();
      this.#arm();
    });
  }

  #look(): void {
    const { clock, limitMs, onLate } = this.#options;
    for (const [key, begunAt] of this.#begun) {
      if (begunAt + limitMs > clock.now()) return;
      this.#begun.delete(key);
      onLate(key);
    }
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
