/** Answers of debug types (`istio.io/debug/…`), which are asked over xDS like over HTTP. */
import type { Resource } from "@flotilla/xds";
import type { ClientIdentity } from "./resource-source.ts";

/** A question that is not answered ends the stream, with this as its status. */
interface DebugRefusal {
  readonly refused: "unauthenticated" | "denied" | "invalid";
  readonly message: string;
}

export type DebugAnswers = (
  typeUrl: string,
  names: readonly string[],
  client: ClientIdentity,
) => Promise<readonly Resource[] | DebugRefusal>;
