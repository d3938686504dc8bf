/**
 * The state of the rotation in the shared bucket, written only over the revision that was read, and a copy on disk: a ca that
 * starts without the bus, or after the bus has lost it, goes on where it was. States are counted: an older one than was known here,
 * after the bus lost writes or because somebody stored it again, is not taken, but replaced.
 */
import { mkdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { replaceFile } from "@flotilla/auth";
import { type KeyValue, readValue } from "@flotilla/bus";
import type { Logger } from "@flotilla/runtime";
import { idle, parseState, type RotationState } from "./rotation-state.ts";

/** In the shared bucket. */
export const stateKey = "rotation";

export class StateStore {
  readonly #file: string;
  readonly #log: Logger;
  #revision = 0;
  #state: RotationState = idle;

  constructor(file: string, log: Logger) {
    this.#file = file;
    this.#log = log;
  }

  get state(): RotationState {
    return this.#state;
  }

  /** From the copy, before the bus is there. Without one that can be read, the bucket has to answer. */
  async restore(): Promise<void> {
    const text = await readFile(this.#file, "utf8").catch((error: { code?: unknown }) => {
      if (error.code === "ENOENT") return undefined;
      throw error;
    });
    if (text === undefined) return;
    try {
      this.#state = parseState(text);
    } catch (error) {
      this.#log.error("copy of the rotation's state ignored", { file: this.#file, error });
    }
  }

  /** The state in the bucket; the copy where there is none. True when it is another than before. */
  async read(values: KeyValue): Promise<boolean> {
    const found = await values.get(stateKey);
    if (found?.value === undefined) {
      this.#revision = 0;
      await this.#writeAgain(values, "the bus lost the state of the rotation, which is written again");
      return false;
    }
    if (found.revision === this.#revision) return false;
    const state = readValue(values, found, (value) => parseState(new TextDecoder().decode(value)));
    const isOlder = state?.serial !== undefined && state.serial < (this.#state.serial ?? 0);
    if (state !== undefined && !isOlder) return this.#take(state, found.revision);
    this.#revision = found.revision;
    await this.#writeAgain(
      values,
      "the bus has no state of the rotation that can be read, or an older one than was known: it is replaced",
    );
    return false;
  }

  /** False: somebody else was faster, read again. */
  write(values: KeyValue, state: RotationState): Promise<boolean> {
    return this.#put(values, { ...state, serial: (this.#state.serial ?? 0) + 1 });
  }

  /** This replica applies the state of the last good value. */
  async #writeAgain(values: KeyValue, message: string): Promise<void> {
    if (this.#state === idle) return;
    const { id, phase, serial } = this.#state;
    this.#log.error(message, { id, phase, serial });
    await this.#put(values, this.#state);
  }

  async #put(values: KeyValue, state: RotationState): Promise<boolean> {
    const revision = await values.update(stateKey, new TextEncoder().encode(JSON.stringify(state)), this.#revision);
    if (revision === undefined) return false;
    await this.#take(state, revision);
    return true;
  }

  async #take(state: RotationState, revision: number): Promise<boolean> {
    const isOther = JSON.stringify(state) !== JSON.stringify(this.#state);
    this.#revision = revision;
    this.#state = state;
    if (isOther) await this.#keep();
    return isOther;
  }

  async #keep(): Promise<void> {
    try {
      await mkdir(dirname(this.#file), { recursive: true, mode: 0o700 });
      await replaceFile(this.#file, JSON.stringify(this.#state), 0o600);
    } catch (error) {
      // The bucket has it; the copy is for the day when it has not.
      this.#log.error("rotation state not saved to disk", { file: this.#file, error });
    }
  }
}
