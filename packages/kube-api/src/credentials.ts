/** What a connection to an API server proves itself with. */
export interface KubeCredentials {
  readonly ca?: string;
  readonly token?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly isInsecure?: boolean;
}
