/**
 * Kinds that another control plane asks for and this one does not know. They are answered with nothing: istiod counts a source as
 * synced only when every kind that it asked for was answered (nacos#5301).
 */
import { query } from "../../snapshot/view.ts";
import type { EncodedResource } from "../encode/encoded.ts";
import type { Generator } from "../encode/generator.ts";

/** What can be asked for is up to clients: no more than this many are remembered. */
const maxKinds = 200;
const form = /^[\w.-]+\/v[\w.-]+\/\w+$/;

/** A generator of nothing for a type of the form `group/version/Kind`. */
export function unknownKinds(): (typeUrl: string) => Generator | undefined {
  const known = new Map<string, Generator>();
  return (typeUrl) => {
    const before = known.get(typeUrl);
    if (before !== undefined || !form.test(typeUrl) || known.size >= maxKinds) return before;
    const made: Generator = {
      typeUrl,
      names: query<readonly string[]>(`mcp ${typeUrl} names`, () => []),
      resource: query<EncodedResource | undefined, string>(`mcp ${typeUrl}`, () => undefined),
    };
    known.set(typeUrl, made);
    return made;
  };
}
