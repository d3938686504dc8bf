/**
 * Envoy's types for the values of EnvoyFilters. They take 50 MB, so they are loaded when the first EnvoyFilter is asked about: a webhook of a
 * mesh without any goes without.
 */
import type { Logger } from "@flotilla/runtime";
import type { PatchValueCheck } from "@flotilla/validation";

export class EnvoyValues {
  readonly #log: Logger;
  #loading: Promise<void> | undefined;
  #check: PatchValueCheck | undefined;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Undefined until `load` has resolved. */
  get check(): PatchValueCheck | undefined {
    return this.#check;
  }

  /** Resolves also where they cannot be loaded, which is logged: values are not checked then. */
  load(): Promise<void> {
    this.#loading ??= this.#load();
    return this.#loading;
  }

  async #load(): Promise<void> {
    try {
      const { patchValueProblem } = await import("@flotilla/proto/patch-values");
      this.#check = patchValueProblem;
    } catch (error) {
      this.#log.error("values of EnvoyFilters not checked", { error });
    }
  }
}
