/**
 * The watchdog's thread: measures on its own clock how long the main thread has not run.
 *
 * A worker runs the text of this class, so that neither a bundle nor a worker's start needs a file of its own: it may use nothing
 * from outside itself but types and Node's built-in modules.
 */
import type { Debugger, InspectorNotification, Session } from "node:inspector";

export interface WatchdogThreadData {
  readonly service: string;
  /** Beats of the main thread, stalls that were reported, 1 where an inspector is open, milliseconds from the last beat to the next. */
  readonly shared: Int32Array;
  readonly tickMs: number;
  readonly reportAfterMs: number;
  /** 0: never. */
  readonly endAfterMs: number;
  /** How long the main thread has for showing its stack; native code shows none. */
  readonly stackWithinMs: number;
  readonly exitCode: number;
}

interface Stack {
  readonly frames: readonly string[];
  /** Ends the process from the paused main thread, which writes its last log lines then. */
  readonly exit: (() => void) | undefined;
  readonly release: () => void;
}

export class WatchdogThread {
  readonly #data: WatchdogThreadData;
  readonly #fs = process.getBuiltinModule("node:fs");
  readonly #inspector = process.getBuiltinModule("node:inspector");
  #beats = -1;
  #stalledMs = 0;
  #isReported = false;

  constructor(data: WatchdogThreadData) {
    this.#data = data;
  }

  run(): void {
    this.#watch().catch((error: unknown) => this.#log("warn", "watchdog ended", { error: String(error) }));
  }

  async #watch(): Promise<void> {
    for (;;) await this.#look();
  }

  /**
   * Sleeps until the next beat or until it is overdue: half of the CPU of a timer. Sleep of the machine and SIGSTOP stop this thread too:
   * a wait without a beat counts no more than one tick, however late it ends.
   */
  async #look(): Promise<void> {
    const { shared, tickMs, reportAfterMs, endAfterMs } = this.#data;
    const nextMs = this.#stalledMs === 0 ? Atomics.load(shared, 3) : 0;
    Atomics.wait(shared, 0, this.#beats, nextMs + tickMs);
    const beats = Atomics.load(shared, 0);
    if (beats !== this.#beats) {
      if (this.#isReported)
        await this.#log("info", "main thread runs again", { stalledMs: Math.round(this.#stalledMs) });
      this.#beats = beats;
      this.#stalledMs = 0;
      this.#isReported = false;
      return;
    }
    this.#stalledMs += tickMs;
    if (this.#stalledMs < reportAfterMs || this.#isDebugged()) return;
    if (!this.#isReported) await this.#report();
    if (endAfterMs > 0 && this.#stalledMs >= endAfterMs) await this.#end();
  }

  async #report(): Promise<void> {
    this.#isReported = true;
    Atomics.add(this.#data.shared, 1, 1);
    const { frames, release } = await this.#stackOfMain();
    release();
    const { endAfterMs } = this.#data;
    const ending = endAfterMs > 0 ? { endsAfterMs: endAfterMs } : {};
    await this.#log("error", "main thread stands still", {
      stalledMs: Math.round(this.#stalledMs),
      ...ending,
      stack: frames,
    });
  }

  async #end(): Promise<void> {
    const { frames, exit, release } = await this.#stackOfMain();
    if (Atomics.load(this.#data.shared, 0) !== this.#beats) {
      release();
      return;
    }
    const event = "main thread stood still for too long, ending the process";
    await this.#log("error", event, { stalledMs: Math.round(this.#stalledMs), stack: frames });
    exit?.();
    // In native code, or in an exit handler. The first process of a container ignores it: there a liveness probe ends it.
    setTimeout(() => process.kill(process.pid, "SIGKILL"), exit === undefined ? 100 : 2_000);
    await new Promise(() => undefined);
  }

  /** A breakpoint stops the main thread for as long as somebody looks at it. */
  #isDebugged(): boolean {
    if (Atomics.load(this.#data.shared, 2) === 1) return true;
    try {
      return /^TracerPid:\s*[1-9]/m.test(this.#fs.readFileSync("/proc/self/status", "utf8"));
    } catch {
      // Only Linux has the file.
      return false;
    }
  }

  /** Pauses the main thread for a moment: V8 gives its stack between two statements, and within a regular expression. */
  #stackOfMain(): Promise<Stack> {
    const session = new this.#inspector.Session();
    const release = (): void => {
      session.post("Debugger.resume");
      session.post("Debugger.disable");
      session.disconnect();
    };
    const urls = new Map<string, string>();
    return new Promise((resolve) => {
      const none = ["(in native code: no stack)"];
      const late = setTimeout(() => resolve({ frames: none, exit: undefined, release }), this.#data.stackWithinMs);
      session.on("Debugger.scriptParsed", ({ params: { scriptId, url } }) => urls.set(scriptId, url));
      session.on("Debugger.paused", ({ params }: InspectorNotification<Debugger.PausedEventDataType>) => {
        clearTimeout(late);
        resolve({ frames: this.#framesOf(params, urls), exit: () => this.#exitFrom(session, params), release });
      });
      session.connectToMainThread();
      session.post("Debugger.enable");
      session.post("Debugger.pause");
    });
  }

  #framesOf({ callFrames }: Debugger.PausedEventDataType, urls: ReadonlyMap<string, string>): readonly string[] {
    return callFrames.slice(0, 40).map(({ functionName, location: { scriptId, lineNumber, columnNumber = 0 } }) => {
      const place = `${urls.get(scriptId) ?? "?"}:${lineNumber + 1}:${columnNumber + 1}`;
      return functionName === "" ? place : `${functionName} (${place})`;
    });
  }

  #exitFrom(session: Session, { callFrames }: Debugger.PausedEventDataType): void {
    const callFrameId = callFrames[0]?.callFrameId;
    const expression = `globalThis.process.exit(${this.#data.exitCode})`;
    if (callFrameId !== undefined) session.post("Debugger.evaluateOnCallFrame", { callFrameId, expression });
  }

  /** Not through the main thread. A line that is not read within a moment is not awaited. */
  #log(level: string, msg: string, fields: Readonly<Record<string, unknown>>): Promise<void> {
    const { service } = this.#data;
    const line = { level, time: new Date().toISOString(), service, part: "watchdog", ...fields, msg };
    return new Promise((resolve) => {
      const late = setTimeout(resolve, 500);
      this.#fs.write(1, `${JSON.stringify(line)}\n`, () => {
        clearTimeout(late);
        resolve();
      });
    });
  }
}
