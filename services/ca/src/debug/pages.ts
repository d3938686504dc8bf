/**
 * Debug pages of ca: /debug/rotation, which also starts and aborts a rotation, /debug/caz and /debug/endings. Nothing in them is secret.
 */

import { type Certificate, describe, fingerprint } from "@flotilla/pki";
import { type HttpReply, type HttpRequest, isFromOwnHost } from "@flotilla/runtime";
import { CaError } from "../errors.ts";
import type { SigningMaterial } from "../roots/material.ts";
import type { Rotation, RotationStatus } from "../rotation/rotation.ts";
import type { Phase } from "../rotation/rotation-state.ts";

/** GET, POST /debug/rotation: how far a rotation of the root is, what holds it up; start it, go on without some, go back. */
export async function rotationPage(rotation: Rotation): Promise<HttpReply> {
  return answered(() => rotation.status());
}

/** `?action=rotate&without=NAME…` or `?action=abort`; from this host only. */
export async function changeRotation(rotation: Rotation, request: HttpRequest): Promise<HttpReply> {
  // A page in a browser of this host is not its operator.
  if (!isFromOwnHost(request) || request.headers["origin"] !== undefined)
    return { status: 403, json: { error: "a rotation is started and aborted from ca's own host only" } };
  const { query } = request;
  const action = query.get("action");
  if (action === "rotate") return answered(() => rotation.rotate(query.getAll("without")));
  if (action === "abort") return answered(() => rotation.abort());
  return { status: 400, json: { error: `action ${JSON.stringify(action)} is neither rotate nor abort` } };
}

async function answered(work: () => Promise<RotationStatus>): Promise<HttpReply> {
  try {
    const { state, ...more } = await work();
    return { json: { ...state, meaning: meanings[state.phase], ...more } };
  } catch (error) {
    if (!(error instanceof CaError)) throw error;
    return { status: 409, json: { error: error.reason } };
  }
}

const meanings: Readonly<Record<Phase, string>> = {
  idle: "no rotation is running",
  trusting: "proxies are brought to trust the new root; certificates are still of the old one",
  issuing: "certificates are of the new root; those of the old one are waited for",
  reverting: "certificates are of the old root again; those of the new one are waited for",
  finishing: "the old root is given up",
};

const shownEndings = 200;

/** /debug/endings: the certificates that this replica issued, the first to end first. */
export function endingsPage(rotation: Pick<Rotation, "endings">): HttpReply {
  const endings = rotation.endings(shownEndings).map(({ identity, place, notAfterMs }) => ({
    ...{ holder: `${identity} ${place}`, notAfter: new Date(notAfterMs).toISOString() },
  }));
  return { json: { endings } };
}

interface CaStatus {
  readonly material: SigningMaterial | undefined;
  readonly trustDomains: readonly string[];
  /** Requests that wait. */
  readonly waiting: number;
  readonly nowMs: number;
}

/** /debug/caz: what the CA signs with and whom it serves. Nothing in it is secret. */
export function statusPage({ material, trustDomains, waiting, nowMs }: CaStatus): HttpReply {
  const signing = material && { origin: material.origin, ...summary(material.certificate, nowMs) };
  const roots = material?.roots.map((root) => summary(root, nowMs)) ?? [];
  return { json: { trustDomains, waiting, signing: signing ?? null, roots } };
}

function summary(certificate: Certificate, nowMs: number): object {
  const { serial, notBeforeMs, notAfterMs } = certificate;
  return {
    name: describe(certificate),
    serial,
    sha256: fingerprint(certificate),
    notBefore: new Date(notBeforeMs).toISOString(),
    notAfter: new Date(notAfterMs).toISOString(),
    daysLeft: Math.floor((notAfterMs - nowMs) / 86_400_000),
  };
}
