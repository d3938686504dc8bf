/** What a connection to an API server proves itself with, and whom it trusts. */
export interface KubeCredentials {
  readonly ca?: string;
  /** Before a name and a password. */
  readonly token?: string;
  readonly username?: string;
  readonly password?: string;
  readonly cert?: string;
  readonly key?: string;
  /** Which name the server's certificate must have, where it is not the server's own. */
  readonly servername?: string;
  /** The user to act as. */
  readonly impersonate?: string;
  readonly isInsecure?: boolean;
}
