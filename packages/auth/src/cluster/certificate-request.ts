/** A certificate from a Kubernetes signer: the request is made, approved, waited for and taken away again. */
import { setTimeout as pause } from "node:timers/promises";
import { type CertificateSigningRequest, type KubeApi, KubeError } from "@flotilla/kube-api";
import type { Logger } from "@flotilla/runtime";
import { AuthError } from "../errors.ts";

/** A request to a signer of the cluster; `ttlMs` below ten minutes is raised to them, the API server takes no less. */
export interface SignerCall {
  /** `domain/name`. */
  readonly signer: string;
  readonly csrPem: string;
  readonly ttlMs: number;
}

const path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
/** The API server takes no shorter life. */
const shortestMs = 600_000;
const waitMs = 30_000;
const lookMs = 100;

/** PEM of the certificate and what the signer sends with it. @throws AuthError AUTH_SIGNER_FAILED */
export async function requestFromSigner(api: KubeApi, call: SignerCall, log: Logger): Promise<string> {
  const { signer, csrPem, ttlMs } = call;
  let name: string | undefined;
  try {
    const made = await api.create<CertificateSigningRequest>(path, {
      apiVersion: "certificates.k8s.io/v1",
      kind: "CertificateSigningRequest",
      metadata: { generateName: "csr-flotilla-" },
      spec: {
        request: Buffer.from(csrPem).toString("base64"),
        signerName: signer,
        usages: ["digital signature", "key encipherment", "server auth", "client auth"],
        expirationSeconds: Math.round(Math.max(ttlMs, shortestMs) / 1000),
      },
    });
    name = made.metadata.name;
    const approved = { type: "Approved", status: "True", reason: "FlotillaApproved", message: "the caller is proven" };
    await api.replace(`${path}/${name}/approval`, { ...made, status: { ...made.status, conditions: [approved] } });
    return await waitFor(api, `${path}/${name}`, signer);
  } catch (cause) {
    if (!(cause instanceof KubeError)) throw cause;
    throw new AuthError("AUTH_SIGNER_FAILED", `signer ${signer}: ${cause.message}`, { cause });
  } finally {
    if (name !== undefined) await remove(api, name, log);
  }
}

async function waitFor(api: KubeApi, object: string, signer: string): Promise<string> {
  const until = performance.now() + waitMs;
  while (performance.now() < until) {
    const found = await api.get<CertificateSigningRequest>(object);
    if (found === undefined) throw new AuthError("AUTH_SIGNER_FAILED", `signer ${signer}: the request was deleted`);
    const { conditions = [], certificate } = found.status ?? {};
    const refusal = conditions.find(({ type }) => type === "Denied" || type === "Failed");
    if (refusal !== undefined)
      throw new AuthError(
        "AUTH_SIGNER_FAILED",
        `signer ${signer}: ${refusal.type} ${refusal.reason ?? ""} ${refusal.message ?? ""}`,
      );
    if (certificate !== undefined && certificate !== "") return Buffer.from(certificate, "base64").toString();
    await pause(lookMs);
  }
  throw new AuthError("AUTH_SIGNER_FAILED", `signer ${signer} has not signed within ${waitMs / 1000} s`);
}

async function remove(api: KubeApi, name: string, log: Logger): Promise<void> {
  try {
    await api.delete(`${path}/${name}`);
  } catch (error) {
    // The API server removes old requests by itself; the certificate is good.
    log.warn("certificate request not deleted", { name, error });
  }
}
