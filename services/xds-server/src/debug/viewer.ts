/**
 * Rights of viewers: callers of this host see everything, others the pages that their identity allows. A caller of the control plane's
 * namespace, or of one that was named by a setting, sees all; any other caller sees its own namespace.
 */
import { type Authenticator, parseIdentity } from "@flotilla/auth";
import { type HttpRequest, isFromOwnHost } from "@flotilla/runtime";

export interface Viewer {
  /** Only what belongs to this namespace; undefined: everything. */
  readonly namespace: string | undefined;
}

/** Why a question is not answered, in words for the one who asked. */
export interface Refusal {
  readonly refused: "unauthenticated" | "denied" | "invalid";
  readonly message: string;
}

export interface AccessRules {
  /** False: all callers that reach the port see everything. */
  readonly required: boolean;
  readonly authenticator: Authenticator;
  /** Its callers see everything. */
  readonly rootNamespace: () => string;
  /** So do those of these. */
  readonly allowedNamespaces: readonly string[];
}

const unauthenticated: Refusal = { refused: "unauthenticated", message: "authentication required" };

/** Of an HTTP page: a token in the `authorization` header proves the caller. */
export async function viewerOfRequest(request: HttpRequest, rules: AccessRules): Promise<Viewer | Refusal> {
  const { remoteAddress, headers } = request;
  if (!rules.required) return { namespace: undefined };
  // A caller with a token is judged by it, also on this host: the console passes on those of its callers.
  if (isFromOwnHost(request) && headers["authorization"] === undefined) return { namespace: undefined };
  const metadata = new Map(
    Object.entries(headers).map(([name, value]) => [name, typeof value === "string" ? [value] : (value ?? [])]),
  );
  const address = remoteAddress.includes(":") ? `[${remoteAddress}]` : remoteAddress;
  const verdict = await rules.authenticator.authenticate({ metadata, remoteAddress: `${address}:0` });
  return verdict.authenticated ? viewerOf(verdict.identities, rules) : unauthenticated;
}

/** Of a stream. */
export function viewerOf(identities: readonly string[], rules: AccessRules): Viewer | Refusal {
  if (!rules.required) return { namespace: undefined };
  const namespaces = identities.flatMap((identity) => parseIdentity(identity)?.namespace ?? []);
  const [namespace] = namespaces;
  if (namespace === undefined) return unauthenticated;
  const everything = [rules.rootNamespace(), ...rules.allowedNamespaces];
  return { namespace: namespaces.some((name) => everything.includes(name)) ? undefined : namespace };
}

export function maySee({ namespace }: Viewer, owner: string): boolean {
  return namespace === undefined || namespace === owner;
}
