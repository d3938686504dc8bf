/** Which changes made a type of one stream stale, until that is sent or found to be nothing. */
import type { AppliedSet } from "@flotilla/model";

export class StaleCauses {
  /** Kept per type, as what is stale once is so again. */
  readonly #byType = new Map<string, AppliedSet | undefined>();

  note(typeUrl: string, applied: AppliedSet | undefined): void {
    if (applied !== undefined) this.#byType.set(typeUrl, applied);
  }

  /** The last of them, for what is sent now. */
  take(typeUrl: string): AppliedSet | undefined {
    const applied = this.#byType.get(typeUrl);
    if (applied !== undefined) this.#byType.set(typeUrl, undefined);
    return applied;
  }

  forget(typeUrl: string): void {
    this.#byType.delete(typeUrl);
  }

  /** What was looked at and found to be as before is not the cause of what comes later. */
  settled(isDue: (typeUrl: string) => boolean): void {
    for (const [typeUrl, applied] of this.#byType)
      if (applied !== undefined && !isDue(typeUrl)) this.#byType.set(typeUrl, undefined);
  }
}
