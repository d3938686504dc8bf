/** Errors of config-controller's pages; refusals over its API are a StoreError or an ApiError. */
export type ConfigErrorCode =
  /** No name of an object. */
  | "CONFIG_BAD_NAME"
  /** No number of a generation. */
  | "CONFIG_BAD_GENERATION"
  /** A generation that the history does not reach back to, or that is yet to come. */
  | "CONFIG_NOT_KEPT";

export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly code: ConfigErrorCode;
  /** The sentence without the code, for the caller. */
  readonly reason: string;

  constructor(code: ConfigErrorCode, reason: string, options?: ErrorOptions) {
    super(`[${code}] ${reason}`, options);
    this.code = code;
    this.reason = reason;
  }
}
