/**
 * The roots that connected proxies have accepted, which xds-server reports to ca in a shared bucket: each replica writes its own value,
 * which vanishes with it.
 */
import { decodeShape, listOf, objectOf, text } from "@flotilla/model";

/** The bucket of the reports, one key for each replica of xds-server. */
export const trustReportBucket = "trust-reports";
/** A report that was not written again after this is of a replica that is gone. */
export const trustReportTtlMs = 15_000;

/** The roots that one connected proxy has acknowledged. */
export interface ProxyTrust {
  /** `name.namespace`, as debug pages show it. */
  readonly proxy: string;
  /** Proven ones; empty on a port that asks for no proof. */
  readonly identities: readonly string[];
  /** `namespace/name` from the node. */
  readonly pod: string;
  /** Address of the connection, without its port. */
  readonly host: string;
  /** Ids of the roots in the last bundle that it acknowledged; absent if it never did. */
  readonly roots?: readonly string[];
}

/** The report as JSON, the form that `decodeTrustReport` reads. */
export function encodeTrustReport(proxies: readonly ProxyTrust[]): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(proxies));
}

const shape = listOf(
  objectOf({ proxy: text, identities: listOf(text), pod: text, host: text }, { roots: listOf(text) }),
);

/** @throws RangeError that names the field, SyntaxError, TypeError */
export function decodeTrustReport(bytes: Uint8Array): readonly ProxyTrust[] {
  return decodeShape(bytes, shape);
}
