/** Failures of a source as a whole; faults of single objects are problems, not errors. */
export type SourceErrorCode = "SOURCE_UNREADABLE" | "SOURCE_BUSY";

/** A source that cannot be read at all, with a stable code. */
export class SourceError extends Error {
  override readonly name = "SourceError";
  readonly code: SourceErrorCode;

  constructor(code: SourceErrorCode, message: string, options?: ErrorOptions) {
    super(`[${code}] ${message}`, options);
    this.code = code;
  }
}
