/** How the rules of a policy are read where some of their fields have no meaning. */

export interface Matching {
  /** For connections that carry bytes: nothing is known of requests. */
  readonly tcp: boolean;
  /** A field that cannot be asked is left out, which makes the rule match more; otherwise the rule is left out. */
  readonly widens: boolean;
  /** The policy's namespace. */
  readonly namespace: string;
  /** The mesh's trust domain and its aliases. */
  readonly trustDomains: readonly string[];
}

/** The field asks for something of an HTTP request. */
export class NotForTcp extends Error {}

const httpOnly = new Set(["hosts", "methods", "paths"]);

export function isHttpOnly(key: string): boolean {
  return httpOnly.has(key) || key.startsWith("request.");
}
