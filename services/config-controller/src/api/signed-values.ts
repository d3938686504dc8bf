/**
 * Objects that were written over the API before values were authenticated, or with a seal key that is lost, are accepted once and written
 * again with a code of the key in use. The work directory records that this was done: on the bus, anyone with access to it could undo it.
 */
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { DurableStore } from "../store/durable/durable-store.ts";

export class SignedValues {
  readonly #file: string;
  #isDone: boolean;

  constructor(workDir: string) {
    this.#file = join(workDir, "config-controller", "signed-values");
    this.#isDone = existsSync(this.#file);
  }

  readonly acceptsAny = (): boolean => !this.#isDone;

  /** @throws StoreError STORE_AWAY; errors of the file system */
  async migrate(durable: Pick<DurableStore, "writeAgain">): Promise<void> {
    if (this.#isDone) return;
    await durable.writeAgain();
    await mkdir(dirname(this.#file), { recursive: true, mode: 0o700 });
    await writeFile(this.#file, "objects written over the API carry codes: others are refused\n", { mode: 0o600 });
    this.#isDone = true;
  }
}
