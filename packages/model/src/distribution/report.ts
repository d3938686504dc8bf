/**
 * How far the configuration has come: what each replica of xds-server reports to config-controller of the proxies that are
 * connected to it. Positions are places in the fleet's sequence of changes.
 */
import { decodeShape, integer, listOf, number, objectOf, recordOf, type Shape, text } from "../json/shape.ts";

export interface DistributionReport {
  /** Its pod or host name. */
  readonly replica: string;
  /** The sequence that the positions are of. */
  readonly epoch: string;
  /** Everything up to it is applied here. */
  readonly position: number;
  /** How many proxies have answered, by accepting or refusing, all that follows from the changes up to a position; ascending. */
  readonly answered: readonly (readonly [position: number, proxies: number])[];
  /** Some of those that are furthest behind. */
  readonly behind: readonly string[];
  /** The objects that changed last here, by `Kind/namespace/name`. */
  readonly objects: Readonly<Record<string, ObjectReach>>;
  readonly refusals: readonly ProxyRefusal[];
  /** Conflicts and errors found in what proxies get. */
  readonly findings: readonly ObjectFinding[];
}

export interface ObjectReach {
  /** The object's last change. */
  readonly position: number;
  /** Proxies that have answered it and have something that was made from the object. */
  readonly reached: number;
  /** Proxies that have yet to answer; whether it concerns them is known afterwards. */
  readonly waiting: number;
}

/** A proxy that refuses what it was sent, until it accepts something later of the same type. */
export interface ProxyRefusal {
  /** `name.namespace`. */
  readonly proxy: string;
  readonly typeUrl: string;
  /** The resources that its words name; without any, those that came with the refused message. */
  readonly resources: readonly string[];
  /** Sources of these resources: the objects that changed since the proxy accepted the type last, or all when none did. */
  readonly objects: readonly string[];
  /** Envoy's words. */
  readonly message: string;
  /** The rejected resources reflect the changes up to it. */
  readonly position: number;
  readonly atMs: number;
  /** Since when the proxy rejects the type without a break; absent in reports of replicas that do not count. */
  readonly sinceMs?: number;
}

export interface ObjectFinding {
  readonly object: string;
  readonly message: string;
}

/** A bucket with a value for each replica of xds-server. */
export const distributionBucket = "distribution";
/** A replica that has not reported again for this long is no more. */
export const distributionTtlMs = 9_000;

export function encodeDistribution(report: DistributionReport): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(report));
}

const pair: Shape = (value) =>
  Array.isArray(value) && value.length === 2 ? listOf(integer)(value) : " is no pair of numbers";

const shape = objectOf({
  replica: text,
  epoch: text,
  position: integer,
  answered: listOf(pair),
  behind: listOf(text),
  objects: recordOf(objectOf({ position: integer, reached: integer, waiting: integer })),
  refusals: listOf(
    objectOf(
      {
        proxy: text,
        typeUrl: text,
        resources: listOf(text),
        objects: listOf(text),
        message: text,
        position: integer,
        atMs: number,
      },
      { sinceMs: number },
    ),
  ),
  findings: listOf(objectOf({ object: text, message: text })),
});

/** @throws RangeError that names the field, SyntaxError, TypeError */
export function decodeDistribution(value: Uint8Array): DistributionReport {
  return decodeShape(value, shape);
}
