/** Kinds and their schemas, fetched once each, as a text needs them. */
import type { KindRow } from "../../contract/index.ts";
import { type FieldSchema, type KnownKinds, kindAt } from "./completion.ts";
import type { FetchJson } from "./fetch-json.ts";
import { callEndpoint } from "./requests.ts";

export interface KindSource {
  /** The kinds, and the schema of the one that the caret is in; whatever cannot be fetched is missing, and is fetched the next time. */
  knownFor(text: string, caret: number): Promise<KnownKinds>;
}

/** An empty source. */
export function createKindSource(fetchJson: FetchJson): KindSource {
  const schemas = new Map<string, FieldSchema>();
  let kinds: readonly KindRow[] = [];
  return {
    knownFor: async (text, caret) => {
      if (kinds.length === 0) {
        const answer = await callEndpoint(fetchJson, "GET /api/v1/kinds", {});
        if (answer.ok) kinds = answer.value.kinds;
      }
      const kind = kindAt(text, caret, kinds);
      if (kind !== undefined && !schemas.has(kind.name)) {
        const names = { name: kind.name };
        const answer = await callEndpoint(fetchJson, "GET /api/v1/kinds/{name}/schema", { names });
        if (answer.ok) schemas.set(kind.name, answer.value.schema as FieldSchema);
      }
      return { kinds, schemas };
    },
  };
}
