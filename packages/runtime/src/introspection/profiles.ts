/** Profiles of this process on request, in the forms that Chrome's developer tools and speedscope read. */
import { Session } from "node:inspector/promises";
import { delay } from "../wait.ts";

export type ProfileKind = "cpu" | "heap";

/** Bytes between two samples of the heap, as V8 has it by default. */
const samplingInterval = 32_768;

/** One at a time: two would see each other. */
export class Profiles {
  #isTaking = false;

  /** For `seconds`, or until `stop` fires; undefined while another one is being taken. */
  async take(kind: ProfileKind, seconds: number, stop: AbortSignal): Promise<string | undefined> {
    if (this.#isTaking) return undefined;
    this.#isTaking = true;
    const session = new Session();
    session.connect();
    try {
      return JSON.stringify(await (kind === "cpu" ? cpu : heap)(session, seconds * 1_000, stop));
    } finally {
      session.disconnect();
      this.#isTaking = false;
    }
  }
}

async function cpu(session: Session, forMs: number, stop: AbortSignal): Promise<unknown> {
  await session.post("Profiler.enable");
  await session.post("Profiler.start");
  await delay(forMs, stop);
  return (await session.post("Profiler.stop")).profile;
}

/** Memory that was allocated meanwhile and is still in use. */
async function heap(session: Session, forMs: number, stop: AbortSignal): Promise<unknown> {
  await session.post("HeapProfiler.enable");
  await session.post("HeapProfiler.startSampling", { samplingInterval });
  await delay(forMs, stop);
  return (await session.post("HeapProfiler.stopSampling")).profile;
}
