/** Secrets and ConfigMaps with certificates, as far as it can be seen without cryptography: which keys there are, and whether they hold PEM. */

/** By key; undefined for an object that does not exist. */
export type CredentialData = Readonly<Record<string, string>> | undefined;

/** Why an object is no certificate of a server with its key; undefined when it is one. */
export function certificateProblem(namespace: string, name: string, data: CredentialData): string | undefined {
  if (data === undefined) return `secret ${namespace}/${name} not found`;
  const [certificate, key] = [data["cert"] ?? data["tls.crt"], data["key"] ?? data["tls.key"]];
  if (!certificate || !key) {
    const found = Object.keys(data).sort().join(", ");
    return `found secret, but didn't have expected keys (cert and key) or (tls.crt and tls.key); found: ${found}`;
  }
  const part = !isPem(certificate, "CERTIFICATE") ? "certificate" : isPem(key, "PRIVATE KEY") ? undefined : "key";
  return part && `the certificate is malformed: tls: failed to find any PEM data in ${part} input`;
}

/** Why an object holds no roots; `kind` is Secret or ConfigMap. */
export function rootsProblem(
  { kind, namespace, name }: { readonly kind: string; readonly namespace: string; readonly name: string },
  data: CredentialData,
): string | undefined {
  if (data === undefined) return `${kind.toLowerCase()} ${namespace}/${name} not found`;
  const roots = data["cacert"] ?? data["ca.crt"];
  if (!roots) {
    const found = Object.keys(data).sort().join(", ");
    return `found secret, but didn't have expected keys cacert or ca.crt; found: ${found}`;
  }
  return isPem(roots, "CERTIFICATE") ? undefined : "the bundle is malformed";
}

/** True where there is a PEM block whose type ends in `label`, such as `EC PRIVATE KEY`. */
function isPem(text: string, label: string): boolean {
  const begin = text.indexOf("-----BEGIN ");
  const end = begin === -1 ? -1 : text.indexOf("-----END ", begin);
  return end !== -1 && text.slice(begin, end).includes(`${label}-----`) && text.includes(`${label}-----`, end);
}
