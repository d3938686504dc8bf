/**
 * CreateCertificate: who calls, what may they have, sign, answer. The identity in the certificate is the caller's, proven by an
 * authenticator; nothing of it comes from the request.
 */
import { isIP } from "node:net";
import {
  type Authenticated,
  type Authenticator,
  type Caller,
  type ImpersonationRules,
  impersonationRefusal,
  parseIdentity,
} from "@flotilla/auth";
import type { Csr, San } from "@flotilla/pki";
import type { IstioCertificateRequest } from "@flotilla/proto/security/v1alpha1/ca_pb";
import type { LineBudgets, Logger } from "@flotilla/runtime";
import { grantedNames, type ServingRules } from "../authorize/serving-names.ts";
import { type DelegateOptions, issueByDelegate, signerOf } from "../delegate/registration-authority.ts";
import { CaError } from "../errors.ts";
import type { CaMetrics } from "../metrics.ts";
import type { SigningMaterial } from "../roots/material.ts";
import type { Holding } from "../rotation/ledger.ts";
import type { FairQueue } from "../sign/fair-queue.ts";
import { type Issued, issueWorkload, type TtlRules, ttlOf, type WorkloadRequest } from "../sign/issue-workload.ts";
import { internal, kindOf, type Reply, replyOf, unauthenticated } from "./status.ts";

export interface IssuerParts {
  readonly authenticator: Authenticator;
  readonly material: () => SigningMaterial | undefined;
  /** Signers of Kubernetes. */
  readonly delegate: DelegateOptions;
  readonly ttl: TtlRules;
  readonly serving: ServingRules;
  readonly node: ImpersonationRules;
  /** Where requests wait to be authenticated, by the host they come from. */
  readonly intake: FairQueue;
  /** Where requests wait to be signed, by identity. */
  readonly queue: FairQueue;
  /** PEM of roots that workloads are given besides those of the signing material. */
  readonly moreRootsPem: () => string;
  /** No certificate lives longer now than this: in a rotation holders are to renew soon. */
  readonly longestTtlMs: () => number;
  /** Issued certificates go on record, for rotations of the root. */
  readonly record: (holding: Holding) => void;
  readonly metrics: CaMetrics;
  readonly log: Logger;
  /** Log budgets of refused callers, by the host they come from. */
  readonly refusedLines: LineBudgets;
  readonly nowMs: () => number;
  readonly randomSerial: () => Uint8Array;
}

export type Outcome = { readonly chain: readonly string[] } | Reply;

/** A request whose caller may have what it asks for. */
interface AuthorizedRequest {
  readonly caller: Caller;
  readonly proof: Authenticated;
  readonly identity: string;
}

export async function createCertificate(
  request: IstioCertificateRequest,
  caller: Caller,
  parts: IssuerParts,
): Promise<Outcome> {
  const { metrics, log, nowMs } = parts;
  const startMs = nowMs();
  metrics.requests.add(1);
  try {
    const authorized = await authorize(request, caller, parts);
    if ("code" in authorized) return authorized;
    const issued = await parts.queue.run(authorized.proof.principal ?? authorized.identity, () =>
      issue(request, authorized, parts),
    );
    return { chain: issued.chain };
  } catch (error) {
    if (!(error instanceof CaError)) {
      metrics.signFailures.add(1, { error: "internal" });
      log.error("request failed", { caller: caller.remoteAddress, error });
      return internal;
    }
    count(error, metrics);
    parts.refusedLines.write(originOf(caller), (more) =>
      log.warn("certificate refused", {
        ...{ caller: caller.remoteAddress, code: error.code, reason: error.reason },
        ...more,
      }),
    );
    return replyOf(error);
  } finally {
    metrics.seconds.observe((nowMs() - startMs) / 1000);
  }
}

async function authorize(
  request: IstioCertificateRequest,
  caller: Caller,
  parts: IssuerParts,
): Promise<AuthorizedRequest | Reply> {
  const { authenticator, metrics, log, node, intake } = parts;
  const proof = await (await intake.run(hostOf(caller), () => ({ verdict: authenticator.authenticate(caller) })))
    .verdict;
  if (!proof.authenticated && proof.foreign !== undefined) return notOfMesh(caller, proof.foreign, parts);
  if (!proof.authenticated) {
    metrics.authenticationFailures.add(1);
    parts.refusedLines.write(originOf(caller), (more) =>
      log.warn("caller not authenticated", { caller: caller.remoteAddress, reason: proof.reason, ...more }),
    );
    return unauthenticated;
  }
  if (proof.principal === undefined || parseIdentity(proof.principal) === undefined)
    return notOfMesh(caller, proof.identities, parts);
  const impersonated = request.metadata?.["ImpersonatedIdentity"];
  if (impersonated === undefined || impersonated === "") return { caller, proof, identity: proof.principal };
  const refusal = impersonationRefusal(proof.kubernetes, impersonated, node);
  if (refusal !== undefined) throw new CaError("CA_NODE_REFUSED", refusal);
  return { caller, proof, identity: String(impersonated) };
}

function notOfMesh(caller: Caller, identities: readonly string[], { metrics, log, refusedLines }: IssuerParts): Reply {
  metrics.identityFailures.add(1);
  refusedLines.write(originOf(caller), (more) =>
    log.warn("caller has no identity of this mesh", { caller: caller.remoteAddress, identities, ...more }),
  );
  return unauthenticated;
}

/** By a signer of Kubernetes where one is meant, else by ourselves. @throws CaError */
function issue(
  request: IstioCertificateRequest,
  authorized: AuthorizedRequest,
  parts: IssuerParts,
): Issued | Promise<Issued> {
  const { delegate, ttl, serving } = parts;
  const { identity, proof } = authorized;
  const requested = request.metadata?.["CertSigner"];
  const signer = signerOf(requested, delegate);
  const namesFor = (csr: Csr): readonly San[] =>
    identity === proof.principal ? grantedNames(identity, csr.sans, serving) : [];
  const asked = { csrPem: request.csr, identity, namesFor, ttlMs: ttlOf(request.validityDuration, ttl) };
  if (signer === undefined) return sign(asked, request, authorized, parts);
  return issueByDelegate(asked, signer, delegate).then((issued) => auditIssued(issued, authorized, parts, { signer }));
}

function sign(
  asked: Pick<WorkloadRequest, "csrPem" | "identity" | "namesFor" | "ttlMs">,
  request: IstioCertificateRequest,
  authorized: AuthorizedRequest,
  parts: IssuerParts,
): Issued {
  const { material, nowMs, randomSerial, moreRootsPem, record, longestTtlMs } = parts;
  const signing = material();
  if (signing === undefined) throw new CaError("CA_NOT_READY", "there is no signing material");
  const more = { nowMs: nowMs(), serial: randomSerial(), moreRootsPem: moreRootsPem() };
  const issued = issueWorkload({ ...asked, ttlMs: Math.min(asked.ttlMs, longestTtlMs()), ...more }, signing);
  const pod = podOf(authorized.proof);
  record({
    ...(pod !== undefined && { pod }),
    identity: asked.identity,
    place: placeOf(authorized.caller, authorized.proof, request.metadata?.["Instance"]),
    issuer: signing.rootId,
    roots: signing.rootIds,
    issuedMs: nowMs(),
    notAfterMs: issued.notAfterMs,
  });
  return auditIssued(issued, authorized, parts, {});
}

/** The line for the audit. */
function auditIssued(
  issued: Issued,
  { caller, proof, identity }: AuthorizedRequest,
  { metrics, log }: IssuerParts,
  more: { readonly signer?: string },
): Issued {
  metrics.issued.add(1);
  log.info("certificate issued", {
    identity,
    serial: issued.serial,
    key: issued.csr.key.name,
    notAfter: new Date(issued.notAfterMs).toISOString(),
    authenticator: proof.authenticator,
    caller: caller.remoteAddress,
    ...(issued.sans.length > 1 && { names: issued.sans.slice(1).map(({ value }) => value) }),
    ...(identity !== proof.principal && { askedBy: proof.principal }),
    ...more,
  });
  return issued;
}

/**
 * Where the certificate will be used, so that a renewed one replaces the one before. An instance is claimed by the caller,
 * who can mislead us about certificates of its own identity and about no other.
 */
function placeOf(caller: Caller, { kubernetes }: Authenticated, instance: unknown): string {
  if (typeof instance === "string" && /^[\x21-\x7e]{1,128}$/.test(instance)) return `instance ${instance}`;
  const { namespace = "", podName, podUid } = kubernetes ?? {};
  if (podName !== undefined) return `pod ${namespace}/${podName} ${podUid ?? ""}`;
  return `host ${originOf(caller)}`;
}

/** A forwarded request counts for the host that its sender states. A false host does no more harm than a false instance. */
function originOf(caller: Caller): string {
  const origin = caller.metadata.get("x-forwarded-for")?.at(-1)?.split(",").at(-1)?.trim() ?? "";
  return isIP(origin) === 0 ? hostOf(caller) : origin;
}

function podOf({ kubernetes }: Authenticated): Holding["pod"] {
  const { cluster, namespace = "", podName: name, podUid: uid } = kubernetes ?? {};
  if (cluster === undefined || name === undefined || uid === undefined) return undefined;
  return { cluster, namespace, name, uid };
}

function hostOf({ remoteAddress }: Caller): string {
  return remoteAddress.replace(/:\d+$/, "");
}

function count(error: CaError, metrics: CaMetrics): void {
  if (error.code === "CA_NODE_REFUSED") metrics.authenticationFailures.add(1);
  else if (error.code === "CA_BAD_CSR") metrics.badRequests.add(1);
  else metrics.signFailures.add(1, { error: kindOf(error) });
}
