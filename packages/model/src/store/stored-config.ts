/** Makes a stored object of one that is written: the rules of versions and generations, the same for every store of our own. */
import type { Config, ConfigKey } from "../config/config.ts";
import { equalJson } from "../config/equal.ts";
import { StoreError } from "./store-error.ts";

export interface WriteStamp {
  /** Of the version that is made. */
  readonly resourceVersion: string;
  readonly nowMs: number;
  readonly source: string;
}

/** @throws StoreError STORE_ALREADY_EXISTS */
export function created(config: Config, current: Config | undefined, stamp: WriteStamp): Config {
  if (current !== undefined) throw new StoreError("STORE_ALREADY_EXISTS", config.key, `is in ${stamp.source} already`);
  const { status: _, ...rest } = config;
  // Times of the Kubernetes API are whole seconds.
  const creationTimeMs = Math.floor(stamp.nowMs / 1000) * 1000;
  return { ...rest, creationTimeMs, generation: 1, ...placed(stamp) };
}

/** `current` itself when nothing changes. @throws StoreError STORE_NOT_FOUND, STORE_CONFLICT */
export function updated(config: Config, current: Config | undefined, stamp: WriteStamp): Config {
  const known = expectVersion(config.key, current, config.resourceVersion, stamp.source);
  const { status: _, ...rest } = config;
  const isSameSpec = equalJson(config.spec, known.spec);
  const isSame =
    isSameSpec && equalJson(config.labels, known.labels) && equalJson(config.annotations, known.annotations);
  if (isSame) return known;
  return {
    ...rest,
    creationTimeMs: known.creationTimeMs,
    generation: (known.generation ?? 1) + (isSameSpec ? 0 : 1),
    ...(known.status === undefined ? {} : { status: known.status }),
    ...placed(stamp),
  };
}

/** `current` itself when nothing changes. @throws StoreError STORE_NOT_FOUND, STORE_CONFLICT */
export function withStatus(config: Config, current: Config | undefined, stamp: WriteStamp): Config {
  const known = expectVersion(config.key, current, config.resourceVersion, stamp.source);
  if (equalJson(known.status, config.status)) return known;
  const { status: _, ...rest } = known;
  return { ...rest, ...(config.status === undefined ? {} : { status: config.status }), ...placed(stamp) };
}

/** No version, or none named, means whatever is there. @throws StoreError STORE_NOT_FOUND, STORE_CONFLICT */
export function expectVersion(
  key: ConfigKey,
  current: Config | undefined,
  resourceVersion: string | undefined,
  source: string,
): Config {
  if (current === undefined) throw new StoreError("STORE_NOT_FOUND", key, `is not in ${source}`);
  if (resourceVersion !== undefined && resourceVersion !== "" && resourceVersion !== current.resourceVersion) {
    const reason = `was changed since version ${resourceVersion}, it is ${current.resourceVersion} now`;
    throw new StoreError("STORE_CONFLICT", key, reason);
  }
  return current;
}

function placed({ resourceVersion, nowMs, source }: WriteStamp): Pick<Config, "resourceVersion" | "provenance"> {
  return { resourceVersion, provenance: { source, location: `version ${resourceVersion}`, eventTimeMs: nowMs } };
}
