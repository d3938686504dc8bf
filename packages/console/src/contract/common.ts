/**
 * Conventions of all endpoints: pages of lists, services that are away, errors. Times are ISO 8601 in UTC, durations milliseconds, sizes
 * bytes.
 */

/** Rows of a page at most; a larger `limit` is refused with 400. */
export const maxPageRows = 200;

/** Queries of lists. Filters take several values separated by commas, one of which must hold; all filters must hold. */
export interface PageQuery {
  /** Words, all of which occur somewhere in the row, whatever their case. */
  readonly search?: string;
  /** Name of a column, which each list documents; with `-` before it, descending. */
  readonly sort?: string;
  /** Rows that are left out from the start; 0 if absent. */
  readonly offset?: number;
  /** 1 to 200; 50 if absent. */
  readonly limit?: number;
}

/** A part of a list. */
export interface Page<Row> extends Partially {
  readonly rows: readonly Row[];
  /** Rows that match the search and all filters. */
  readonly matching: number;
  /** Rows without search and filters. */
  readonly total: number;
  readonly offset: number;
  readonly limit: number;
}

/** A list whose columns can be filtered: values that occur in a column, with the number of rows that match the search. */
export interface FacetedPage<Row, Column extends string> extends Page<Row> {
  readonly facets: Readonly<Record<Column, readonly Facet[]>>;
}

/** A value of a column; the most frequent first, 100 of them at most. */
export interface Facet {
  readonly value: string;
  readonly count: number;
}

/** An answer that several services are asked for: what those that answer have stands in it. */
export interface Partially {
  /** Empty when everybody answered. */
  readonly away: readonly AwayService[];
}

/** A service that gave no answer, or refused one. */
export interface AwayService {
  readonly service: ServiceName;
  /** Absent where no replica of the service is known. */
  readonly replica?: string;
  readonly reason: AwayReason;
  /** One sentence, as for the operator. */
  readonly message: string;
}

/** `forbidden`: the service does not show this to the caller. `unknown-address`: the console has no address of it. */
export type AwayReason = "unreachable" | "timeout" | "forbidden" | "failed" | "unknown-address";

/** The services of the control plane. */
export type ServiceName = "config-controller" | "service-controller" | "xds-server" | "ca" | "webhook" | "console";

/** The body of every answer with a status of 400 and above. */
export interface ErrorAnswer {
  readonly error: ConsoleError;
}

/** Why a request was refused. */
export interface ConsoleError {
  readonly code: ErrorCode;
  /** One sentence. */
  readonly message: string;
  /** Each field that is wrong, as validation reports it. */
  readonly causes?: readonly Cause[];
}

/**
 * 401 `no-session` (none, or it has ended: sign in again), 401 `bad-token` (of POST session), 403 `forbidden` (the service refuses
 * the caller), 403 `cross-site` (the request comes from another site), 404 `not-found`, 400 `bad-request`, 409 `conflict`, 413 `too-large`,
 * 422 `invalid` (validation refuses an object; see causes), 429 `too-many`, 502 `upstream` (a service failed), 503 `away` (the only service that has
 * the answer is away).
 */
export type ErrorCode =
  | "no-session"
  | "bad-token"
  | "forbidden"
  | "cross-site"
  | "not-found"
  | "bad-request"
  | "conflict"
  | "too-large"
  | "invalid"
  | "too-many"
  | "upstream"
  | "away";

/** A field that is wrong. */
export interface Cause {
  /** Place of the object among the documents of the YAML text, from 0; absent where there is one object. */
  readonly item?: number;
  /** `spec.http[0].route[0].weight`; empty for the whole. */
  readonly field: string;
  readonly message: string;
  /** Line of the YAML text, from 1, where it is known. */
  readonly line?: number;
}

/** A place where two JSON values differ. */
export interface Difference {
  /** `virtualHosts[2].routes[0].match.prefix`; empty for the whole. */
  readonly path: string;
  /** Absent: it is only in the other one. */
  readonly before?: unknown;
  readonly after?: unknown;
}

/** Of an object: `Kind/namespace/name`; the namespace of a kind without namespaces is empty. */
export type ObjectName = string;
