/** Keeps one process running: starts it again with back-off when it ends, until it is disposed of or loops. */
import { delay } from "@flotilla/runtime";
import { CliError } from "../errors.ts";
import {
  defaultFailurePolicy,
  defaultPolicy,
  type End,
  type FailurePolicy,
  lastingFailure,
  RestartHistory,
  type RestartPolicy,
} from "./restart-policy.ts";

/** One run of a process. */
export interface Run {
  readonly pid: number | undefined;
  /** Resolves when it has ended, to how and why. */
  readonly exited: Promise<string>;
  /** True while it does its work. */
  isReady(): Promise<boolean>;
  /** The failure that keeps it from its work until it is restarted, although it runs. */
  failure?(): Promise<string | undefined>;
  /** Ends it in order; resolves when it has ended. */
  stop(): Promise<void>;
  /** Ends it as a crash would. */
  kill(): Promise<void>;
}

export type SupervisedState<R extends Run> =
  | { readonly kind: "starting"; readonly run: R }
  | { readonly kind: "ready"; readonly run: R; readonly sinceMs: number }
  | { readonly kind: "waiting"; readonly untilMs: number }
  | { readonly kind: "restarting" }
  | { readonly kind: "over" };

export type SupervisionEvent =
  | {
      readonly kind: "ended";
      readonly name: string;
      readonly reason: string;
      readonly restarts: number;
      readonly afterMs: number;
    }
  | { readonly kind: "started"; readonly name: string; readonly pid: number | undefined; readonly restarts: number };

/** A line for people. */
export function eventText(event: SupervisionEvent): string {
  const { name } = event;
  if (event.kind === "started") return `${name} started again (process ${event.pid}, restart ${event.restarts})`;
  const next = event.afterMs === 0 ? "now" : `in ${event.afterMs / 1_000} s`;
  return `${name} ended: ${event.reason}; next start ${next}`;
}

export interface SupervisedOptions<R extends Run> {
  readonly name: string;
  /** Runs already. */
  readonly first: R;
  /** Starts it again with what the first one had. */
  readonly start: () => Promise<R>;
  readonly onEvent: (event: SupervisionEvent) => void;
  readonly policy?: RestartPolicy;
  readonly failurePolicy?: FailurePolicy;
}

interface EndOfRun extends Pick<End, "readySinceMs"> {
  readonly reason: string;
}

const pollMs = 100;
/** Code of a failure that no restart mends. */
const mistake = "[SETTINGS_INVALID]";

export class Supervised<R extends Run> implements AsyncDisposable {
  readonly name: string;
  /** Rejects when it ends again and again without getting ready. */
  readonly ended: Promise<never>;
  readonly #options: SupervisedOptions<R>;
  readonly #history: RestartHistory;
  readonly #stop = new AbortController();
  readonly #loop: Promise<void>;
  #state: SupervisedState<R>;
  #restarts = 0;
  #failedStart: EndOfRun = { reason: "", readySinceMs: undefined };
  #lastEnd: { readonly reason: string; readonly atMs: number } | undefined;

  constructor(options: SupervisedOptions<R>) {
    this.name = options.name;
    this.#options = options;
    this.#history = new RestartHistory(options.policy ?? defaultPolicy);
    this.#state = { kind: "starting", run: options.first };
    this.#loop = this.#supervise(options.first);
    this.ended = this.#loop.then(() => new Promise<never>(() => {}));
    // Callers that await it see the rejection; without one this process must not end.
    this.ended.catch(() => undefined);
  }

  get state(): SupervisedState<R> {
    return this.#state;
  }

  get run(): R | undefined {
    return "run" in this.#state ? this.#state.run : undefined;
  }

  get restarts(): number {
    return this.#restarts;
  }

  get lastEnd(): { readonly reason: string; readonly atMs: number } | undefined {
    return this.#lastEnd;
  }

  /** Ends it as a crash would, and for good. */
  async kill(): Promise<void> {
    await this.#end((run) => run.kill());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end((run) => run.stop());
  }

  async #end(how: (run: R) => Promise<void>): Promise<void> {
    this.#stop.abort(new Error(`${this.name} is stopped`));
    if (this.run !== undefined) await how(this.run);
    // A crash loop was reported by `ended`.
    await this.#loop.catch(() => undefined);
    this.#state = { kind: "over" };
  }

  async #supervise(first: R): Promise<void> {
    const stop = this.#stop.signal;
    for (let run: R | undefined = first; !stop.aborted; ) {
      const end = run === undefined ? this.#failedStart : await this.#untilEnd(run);
      if (stop.aborted) return;
      const afterMs = this.#decide(end);
      await delay(afterMs, stop);
      if (stop.aborted) return;
      this.#state = { kind: "restarting" };
      run = await this.#startAgain();
    }
  }

  async #untilEnd(run: R): Promise<EndOfRun> {
    const over = new AbortController();
    const watching = this.#watch(run, AbortSignal.any([over.signal, this.#stop.signal]));
    const how = await run.exited;
    over.abort();
    const failure = await watching;
    const readySinceMs = this.#state.kind === "ready" ? this.#state.sinceMs : undefined;
    return { reason: failure === undefined ? how : `restarted since it failed: ${failure}`, readySinceMs };
  }

  /** Until it is ready, then until it fails for good and is ended, or until it is over. Resolves to that failure. */
  async #watch(run: R, over: AbortSignal): Promise<string | undefined> {
    while (!(await run.isReady())) {
      await delay(pollMs, over);
      if (over.aborted) return undefined;
    }
    if (over.aborted) return undefined;
    this.#state = { kind: "ready", run, sinceMs: Date.now() };
    const failure = await lastingFailure(run, this.#options.failurePolicy ?? defaultFailurePolicy, over);
    if (failure !== undefined) await run.stop();
    return failure;
  }

  /** @throws CliError CLI_SERVICE_ENDED, CLI_USAGE */
  #decide({ reason, readySinceMs }: EndOfRun): number {
    const atMs = Date.now();
    this.#lastEnd = { reason, atMs };
    if (reason.includes(mistake)) {
      this.#state = { kind: "over" };
      throw new CliError("CLI_USAGE", `${this.name} cannot start: ${reason.slice(reason.indexOf(mistake))}`);
    }
    const decision = this.#history.note({ atMs, readySinceMs });
    if (decision.kind === "give up") {
      this.#state = { kind: "over" };
      const often = `${decision.failures} times within ${decision.withinMs / 1_000} s without getting ready`;
      throw new CliError("CLI_SERVICE_ENDED", `${this.name} ended ${often}: ${reason}`);
    }
    const { afterMs } = decision;
    this.#state = { kind: "waiting", untilMs: atMs + afterMs };
    this.#options.onEvent({ kind: "ended", name: this.name, reason, restarts: this.#restarts, afterMs });
    return afterMs;
  }

  /** Undefined when it does not start: that counts as an end. */
  async #startAgain(): Promise<R | undefined> {
    this.#restarts++;
    try {
      const run = await this.#options.start();
      if (this.#stop.signal.aborted) {
        await run.stop();
        return undefined;
      }
      this.#state = { kind: "starting", run };
      this.#options.onEvent({ kind: "started", name: this.name, pid: run.pid, restarts: this.#restarts });
      return run;
    } catch (error) {
      this.#failedStart = { reason: error instanceof Error ? error.message : String(error), readySinceMs: undefined };
      return undefined;
    }
  }
}
