/** Which changes made a type of one stream stale, until that is sent or found to be nothing; nothing is kept for a quiet stream. */
import type { AppliedSet } from "@flotilla/model";

export class StaleCauses {
  #byType: Map<string, AppliedSet> | undefined;

  note(typeUrl: string, applied: AppliedSet | undefined): void {
    if (applied === undefined) return;
    this.#byType ??= new Map();
    this.#byType.set(typeUrl, applied);
  }

  /** The last of them, for what is sent now. */
  take(typeUrl: string): AppliedSet | undefined {
    const applied = this.#byType?.get(typeUrl);
    this.forget(typeUrl);
    return applied;
  }

  forget(typeUrl: string): void {
    this.#byType?.delete(typeUrl);
    if (this.#byType?.size === 0) this.#byType = undefined;
  }

  /** What was looked at and found to be as before is not the cause of what comes later. */
  settled(isDue: (typeUrl: string) => boolean): void {
    for (const typeUrl of this.#byType?.keys() ?? []) if (!isDue(typeUrl)) this.forget(typeUrl);
  }
}
