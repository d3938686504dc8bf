/** How a server of configuration is spoken to: certificates are read for each stream anew, since they change. */
import { readFileSync } from "node:fs";
import { checkServerIdentity, type PeerCertificate } from "node:tls";
import { type ChannelCredentials, credentials } from "@grpc/grpc-js";
import type { TlsSettings } from "./source-address.ts";

/** The control plane's own identity, for ISTIO_MUTUAL. */
export interface OwnIdentity {
  readonly keyPem: string;
  readonly chainPem: string;
  readonly rootFile: string;
}

/** Undefined: plain text. The function throws what is wrong with a file, which names it. */
export function tlsCredentials(settings: TlsSettings, own: () => OwnIdentity): (() => ChannelCredentials) | undefined {
  const { mode, caFile, certFile, keyFile } = settings;
  switch (mode) {
    case "DISABLE":
      return undefined;
    case "SIMPLE":
      return () => secured(settings, { root: file(caFile), key: null, chain: null });
    case "MUTUAL":
      return () => secured(settings, { root: file(caFile), key: file(keyFile), chain: file(certFile) });
    case "ISTIO_MUTUAL":
      return () => {
        const { keyPem, chainPem, rootFile } = own();
        return secured(settings, { root: file(rootFile), key: Buffer.from(keyPem), chain: Buffer.from(chainPem) });
      };
  }
}

interface Material {
  /** Null: the roots of the system count. */
  readonly root: Buffer | null;
  readonly key: Buffer | null;
  readonly chain: Buffer | null;
}

function secured({ subjectAltNames, skipVerify }: TlsSettings, { root, key, chain }: Material): ChannelCredentials {
  return credentials.createSsl(root, key, chain, {
    rejectUnauthorized: !skipVerify,
    checkServerIdentity: (host, certificate) => checkNames(host, certificate, subjectAltNames),
  });
}

function file(path: string | undefined): Buffer | null {
  return path === undefined ? null : readFileSync(path);
}

/** Names that are listed are the ones that count, identities included; else the host's own. */
function checkNames(host: string, certificate: PeerCertificate, wanted: readonly string[]): Error | undefined {
  if (wanted.length === 0) return checkServerIdentity(host, certificate);
  const names = (certificate.subjectaltname ?? "")
    .split(", ")
    .map((entry) => entry.replace(/^(DNS|URI|IP Address):/, ""));
  if (names.some((name) => wanted.includes(name))) return undefined;
  return new Error(`the server's certificate is for ${names.join(", ")}, none of ${wanted.join(", ")}`);
}
