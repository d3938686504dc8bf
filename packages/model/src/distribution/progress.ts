/** How far service-controller has come with the configuration that it makes services and endpoints of; for config-controller. */
import { decodeShape, integer, objectOf, text } from "../json/shape.ts";

export interface ServiceProgress {
  /** The sequence that the positions are of. */
  readonly epoch: string;
  /** The configuration up to this place in the fleet's sequence is taken in … */
  readonly read: number;
  /** … and all that follows from it is published up to this place. */
  readonly published: number;
}

/** A bucket with one value, of the replica that publishes. */
export const progressBucket = "progress";
export const progressKey = "service-controller";

/** Kinds that xds-server gets only in the form that service-controller converts them to. */
export const registryKinds: ReadonlySet<string> = new Set(["ServiceEntry", "WorkloadEntry", "WorkloadGroup"]);

export function encodeProgress(progress: ServiceProgress): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(progress));
}

const shape = objectOf({ epoch: text, read: integer, published: integer });

/** @throws RangeError that names the field, SyntaxError, TypeError */
export function decodeProgress(value: Uint8Array): ServiceProgress {
  return decodeShape(value, shape);
}
