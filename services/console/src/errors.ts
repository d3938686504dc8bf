/** Why a request is refused, and which HTTP status that is. */
import type { ConsoleError, ErrorCode } from "@flotilla/console/contract";

/** The codes that are meant for the caller; everything else is a 500. */
const statuses: Readonly<Record<ErrorCode, number>> = {
  "no-session": 401,
  "bad-token": 401,
  forbidden: 403,
  "cross-site": 403,
  "not-found": 404,
  "bad-request": 400,
  conflict: 409,
  "too-large": 413,
  invalid: 422,
  "too-many": 429,
  upstream: 502,
  away: 503,
};

/** A rejected request, with the reason for its caller. */
export class RequestRefused extends Error {
  override readonly name = "RequestRefused";
  readonly code: ErrorCode;
  readonly causes: ConsoleError["causes"];

  constructor(code: ErrorCode, message: string, causes?: ConsoleError["causes"]) {
    super(message);
    this.code = code;
    this.causes = causes;
  }

  get status(): number {
    return statuses[this.code];
  }

  /** The body of the answer. */
  get error(): ConsoleError {
    const { code, message, causes } = this;
    return { code, message, ...(causes !== undefined && { causes }) };
  }
}

const codes: ReadonlyMap<number, ErrorCode> = new Map([
  [400, "bad-request"],
  [401, "forbidden"],
  [403, "forbidden"],
  [404, "not-found"],
  [409, "conflict"],
  [413, "too-large"],
  [422, "invalid"],
  [429, "too-many"],
]);

/** Maps the HTTP status of a service to an error code for the console's caller. */
export function codeOf(status: number): ErrorCode {
  return codes.get(status) ?? "upstream";
}
