/** Which resources of a refused message are to blame. */
import { mentions } from "./mentions.ts";

/** Of the names that went with a refused message those that the client's words name; all of them when they name none. */
export function blamed(message: string, names: Iterable<string>): readonly string[] {
  const all = [...names];
  const named = all.filter((name) => mentions(message, name));
  return named.length > 0 ? named : all;
}
