/**
 * Which resources of a rejected message are to blame, by the text of the rejection. The text comes from the client: what is read of
 * it, and how many names are looked for in it, have a bound.
 */

/** Envoy names the rejected resources at the beginning of its error detail. */
const maxTextLength = 16_384;
/** Looking for so many in a text of that length takes some tens of milliseconds. */
const maxNames = 5_000;

/** Of the names of a rejected message those that the client's text names; all of them when it names none, or when there are too many. */
export function blamed(message: string, names: Iterable<string>): readonly string[] {
  const all = [...names];
  const named = all.length > maxNames ? [] : all.filter((name) => mentions(message, name));
  return named.length > 0 ? named : all;
}

/** Whether a text holds the name as a word of its own. No text holds the empty name. */
export function mentions(text: string, name: string): boolean {
  if (name === "") return false;
  const head = text.slice(0, maxTextLength);
  const isPart = (char: string | undefined) => char !== undefined && /[\w|~/-]/.test(char);
  for (let at = head.indexOf(name); at !== -1; at = head.indexOf(name, at + 1)) {
    if (!isPart(head[at - 1]) && !isPart(head[at + name.length])) return true;
  }
  return false;
}
