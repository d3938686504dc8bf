/** Answers of debug types (`istio.io/debug/…`), which are asked over xDS like over HTTP. */
import type { Resource } from "@flotilla/xds";
import type { ClientIdentity } from "./resource-source.ts";

export type DebugAnswers = (
  typeUrl: string,
  names: readonly string[],
  client: ClientIdentity,
) => Promise<readonly Resource[]>;
