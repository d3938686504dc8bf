/** One call to the CA: a new key, a request for it, and the chain that comes back. */
import {
  appendPem,
  buildCsr,
  csrPem,
  generatePrivateKey,
  type KeyAlgorithm,
  privateKeyPem,
  sanOf,
} from "@flotilla/pki";
import { type CertificateResponse, certificateCall, channelOptions } from "@flotilla/proto/certificate-call";
import { Client, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import { AuthError } from "../errors.ts";
import type { TlsMaterial } from "./material.ts";

/** One request for a certificate: the CA, the proof of the caller and the identity asked for. */
export interface CaCall {
  /** `host:port`. */
  readonly address: string;
  /** The name that the certificate of the CA must be for, whatever the address. */
  readonly serverName: string;
  readonly rootsPem: string;
  /** A token, or the certificate in use until now. */
  readonly proof: { readonly token: string } | { readonly current: TlsMaterial };
  /** SPIFFE URIs, DNS names and addresses that the certificate should have. */
  readonly names: readonly string[];
  readonly keyType: KeyAlgorithm;
  readonly ttlMs: number;
  /** Names the caller among those of its identity: its new certificate replaces the one it had. */
  readonly instance?: string;
  readonly deadlineMs?: number;
}

/** @throws AuthError AUTH_CA_AWAY if asking again may help, AUTH_CA_REFUSED if it will not. */
export async function requestCertificate(call: CaCall): Promise<TlsMaterial> {
  const key = await generatePrivateKey(call.keyType);
  const csr = csrPem(buildCsr({ key, sans: call.names.map(sanOf) }));
  const { certChain } = await send(call, csr);
  const rootsPem = certChain.at(-1);
  if (rootsPem === undefined || certChain.length < 2)
    throw new AuthError("AUTH_CA_REFUSED", `the CA at ${call.address} answers without a chain`);
  return { keyPem: privateKeyPem(key), chainPem: certChain.slice(0, -1).reduce(appendPem, ""), rootsPem };
}

async function send(call: CaCall, csr: string): Promise<CertificateResponse> {
  const { proof, rootsPem, address, serverName, ttlMs, instance, deadlineMs = 10_000 } = call;
  const pair =
    "current" in proof ? [Buffer.from(proof.current.keyPem), Buffer.from(proof.current.chainPem)] : [null, null];
  const channel = credentials.createSsl(Buffer.from(rootsPem), ...(pair as [Buffer | null, Buffer | null]));
  const client = new Client(address, channel, {
    ...channelOptions,
    "grpc.ssl_target_name_override": serverName,
    "grpc.default_authority": serverName,
    // Channels of other credentials must not be shared with this one.
    "grpc.use_local_subchannel_pool": 1,
  });
  const metadata = new Metadata();
  if ("token" in proof) metadata.set("authorization", `Bearer ${proof.token}`);
  const request = {
    csr,
    validitySeconds: Math.round(ttlMs / 1000),
    metadata: instance === undefined ? {} : { Instance: instance },
  };
  const { promise, resolve, reject } = Promise.withResolvers<CertificateResponse>();
  client.makeUnaryRequest(
    certificateCall.path,
    certificateCall.requestSerialize,
    certificateCall.responseDeserialize,
    request,
    metadata,
    { deadline: Date.now() + deadlineMs },
    (error, response) => (response === undefined ? reject(errorOf(error, address)) : resolve(response)),
  );
  try {
    return await promise;
  } finally {
    client.close();
  }
}

/** UNAVAILABLE, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, INTERNAL and ABORTED pass by themselves. */
const passing: ReadonlySet<number> = new Set([4, 8, 10, 13, 14]);

function errorOf(error: ServiceError | null, address: string): AuthError {
  const code = error !== null && passing.has(error.code) ? "AUTH_CA_AWAY" : "AUTH_CA_REFUSED";
  return new AuthError(code, `CA at ${address}: ${error?.message ?? "no answer"}`, { cause: error });
}
