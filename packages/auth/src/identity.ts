/** Identities of workloads: `spiffe://<trust domain>/ns/<namespace>/sa/<service account>`, five parts exactly. */
import { AuthError } from "./errors.ts";

/** The three parts of a SPIFFE id of the mesh. */
export interface Identity {
  readonly trustDomain: string;
  readonly namespace: string;
  readonly serviceAccount: string;
}

const scheme = "spiffe://";

/** Undefined if the text is not an identity of this form; other SPIFFE identities are not. */
export function parseIdentity(text: string): Identity | undefined {
  if (!text.startsWith(scheme)) return undefined;
  const parts = text.slice(scheme.length).split("/");
  const [trustDomain = "", ns, namespace = "", sa, serviceAccount = ""] = parts;
  if (parts.length !== 5 || ns !== "ns" || sa !== "sa") return undefined;
  if (![trustDomain, namespace, serviceAccount].every(isPlain)) return undefined;
  return { trustDomain, namespace, serviceAccount };
}

/** Nothing that could end a name early where the identity is printed, compared or signed. */
function isPlain(part: string): boolean {
  return /^[\x21-\x7e]+$/.test(part) && !/[/\\?#%"]/.test(part);
}

/** @throws AuthError AUTH_BAD_IDENTITY if a part is empty or holds characters that an identity cannot have. */
export function formatIdentity({ trustDomain, namespace, serviceAccount }: Identity): string {
  // A trust domain is a host name; cloud providers name theirs like a mail address.
  const domain = trustDomain.replaceAll("@", ".");
  const text = `${scheme}${domain}/ns/${namespace}/sa/${serviceAccount}`;
  if (parseIdentity(text) === undefined)
    throw new AuthError(
      "AUTH_BAD_IDENTITY",
      `${JSON.stringify({ trustDomain, namespace, serviceAccount })} is no identity`,
    );
  return text;
}

/** The identities, and the same ones in every other trust domain; other texts stay as they are. Sorted. */
export function expandTrustDomains(identities: readonly string[], trustDomains: readonly string[]): readonly string[] {
  const all = new Set(identities);
  for (const text of identities) {
    const identity = parseIdentity(text);
    if (identity === undefined) continue;
    for (const trustDomain of trustDomains) all.add(formatIdentity({ ...identity, trustDomain }));
  }
  return [...all].sort();
}

const subjectPrefix = "system:serviceaccount:";

/** The account in a Kubernetes user name or token subject; undefined if it names none. */
export function parseServiceAccount(subject: string): Omit<Identity, "trustDomain"> | undefined {
  if (!subject.startsWith(subjectPrefix)) return undefined;
  const parts = subject.slice(subjectPrefix.length).split(":");
  const [namespace = "", serviceAccount = ""] = parts;
  return parts.length === 2 && isPlain(namespace) && isPlain(serviceAccount)
    ? { namespace, serviceAccount }
    : undefined;
}

/** The subject of a Kubernetes token, `system:serviceaccount:NAMESPACE:NAME`. */
export function serviceAccountSubject({ namespace, serviceAccount }: Omit<Identity, "trustDomain">): string {
  return `${subjectPrefix}${namespace}:${serviceAccount}`;
}
