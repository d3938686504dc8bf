/** Entries of a status that several controllers write: those of others stay as they are. */
import { gatewayController, meshController } from "./conditions.ts";

interface Entry {
  readonly controllerName: string;
}

const own: ReadonlySet<string> = new Set([gatewayController, meshController]);

/** What others have written, then what is ours. */
export function withForeignEntries<Own extends Entry>(
  before: readonly Entry[] = [],
  ours: readonly Own[],
): readonly Entry[] {
  return [...before.filter(({ controllerName }) => !own.has(controllerName)), ...ours];
}
