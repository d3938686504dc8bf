/** Credentials of a connection to an API server, and their renewal. */

/** Credentials of a connection to an API server, and the CAs that it trusts. */
export interface KubeCredentials {
  readonly ca?: string;
  /** Before a name and a password. */
  readonly token?: string;
  readonly username?: string;
  readonly password?: string;
  readonly cert?: string;
  readonly key?: string;
  /** The name that the server's certificate must have, where it is not the server's own. */
  readonly servername?: string;
  /** The user to act as. */
  readonly impersonate?: string;
  readonly isInsecure?: boolean;
}

/** Credentials that are fetched when they are needed and kept while they are valid. */
export interface RenewedCredentials {
  get(): Promise<KubeCredentials>;
  /** They are fetched again: the API server refused them. */
  forget(): void;
}

interface FetchedCredentials {
  readonly credentials: KubeCredentials;
  /** Undefined: they hold until they are refused. */
  readonly expiryMs: number | undefined;
}

/** Credentials are fetched anew this long before they expire. */
const earlyMs = 10_000;

/** Credentials that are fetched, used until they expire or the API server refuses them, and fetched anew. */
export function renewedCredentials(
  fetch: () => Promise<FetchedCredentials>,
  nowMs: () => number = Date.now,
): RenewedCredentials {
  let held: { readonly credentials: Promise<KubeCredentials>; untilMs: number } | undefined;
  return {
    get: () => {
      if (held !== undefined && nowMs() < held.untilMs) return held.credentials;
      // Several requests at once wait for one answer.
      const fetching = fetch().then(({ credentials, expiryMs }) => {
        fresh.untilMs = expiryMs === undefined ? Number.POSITIVE_INFINITY : expiryMs - earlyMs;
        return credentials;
      });
      const fresh = { credentials: fetching, untilMs: Number.POSITIVE_INFINITY };
      held = fresh;
      fetching.catch(() => {
        if (held === fresh) held = undefined;
      });
      return fetching;
    },
    forget: () => {
      held = undefined;
    },
  };
}
