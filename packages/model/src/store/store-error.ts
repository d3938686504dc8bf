/** Why a store did not do what it was asked; nothing of it was changed then. */
import { type ConfigKey, configKeyText } from "../config/config.ts";

export type StoreErrorCode =
  /** Somebody else changed the object since the version that was named. */
  | "STORE_CONFLICT"
  | "STORE_ALREADY_EXISTS"
  | "STORE_NOT_FOUND"
  /** The store, or the one of several that has the object, takes no writes. */
  | "STORE_READ_ONLY"
  /** No kind of this store, or a namespace where none belongs, or none where one belongs. */
  | "STORE_BAD_KEY"
  /** The object itself is refused, as by the API server. */
  | "STORE_INVALID"
  /** Larger, or more, than the store takes. */
  | "STORE_TOO_LARGE"
  /** Too many writes at a time. */
  | "STORE_BUSY"
  /** The backend of the store does not answer. */
  | "STORE_AWAY";

/** The status of HTTP, and so of Kubernetes, for each of them. */
const statuses: Readonly<Record<StoreErrorCode, number>> = {
  STORE_CONFLICT: 409,
  STORE_ALREADY_EXISTS: 409,
  STORE_NOT_FOUND: 404,
  STORE_READ_ONLY: 405,
  STORE_BAD_KEY: 400,
  STORE_INVALID: 422,
  STORE_TOO_LARGE: 413,
  STORE_BUSY: 429,
  STORE_AWAY: 503,
};

export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly code: StoreErrorCode;
  readonly key: ConfigKey | undefined;

  constructor(code: StoreErrorCode, key: ConfigKey | undefined, reason: string, options?: ErrorOptions) {
    super(`[${code}] ${key === undefined ? "" : `${configKeyText(key)} `}${reason}`, options);
    this.code = code;
    this.key = key;
  }

  get status(): number {
    return statuses[this.code];
  }
}
