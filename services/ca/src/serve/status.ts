/** The answer to a caller: a gRPC code and a sentence that reveals nothing that the caller did not send. */
import { status } from "@grpc/grpc-js";
import type { CaError, CaErrorCode } from "../errors.ts";
import type { RefusalKind } from "../metrics.ts";

export interface Reply {
  readonly code: status;
  readonly details: string;
}

export const unauthenticated: Reply = { code: status.UNAUTHENTICATED, details: "request authenticate failure" };
export const internal: Reply = { code: status.INTERNAL, details: "internal error" };

const replies: Readonly<Record<CaErrorCode, (reason: string) => Reply>> = {
  CA_BAD_CSR: () => ({ code: status.INVALID_ARGUMENT, details: "CSR parsing error" }),
  CA_BAD_TTL: (reason) => ({ code: status.INVALID_ARGUMENT, details: `CSR signing error (${reason})` }),
  CA_UNKNOWN_SIGNER: () => ({ code: status.INVALID_ARGUMENT, details: "CSR signing error (unknown signer)" }),
  CA_NAME_REFUSED: (reason) => ({ code: status.PERMISSION_DENIED, details: `CSR signing error (${reason})` }),
  CA_NOT_READY: () => ({ code: status.INTERNAL, details: "CA not ready" }),
  CA_BAD_MATERIAL: () => ({ code: status.INTERNAL, details: "CA not ready" }),
  CA_BUSY: () => ({ code: status.RESOURCE_EXHAUSTED, details: "too many requests of this identity, try again later" }),
  CA_SIGNER_FAILED: () => ({ code: status.INTERNAL, details: "CSR signing error (the signer has not signed)" }),
  CA_BAD_BUNDLE: () => ({ code: status.INTERNAL, details: "CA not ready" }),
  CA_ROTATION: () => ({ code: status.INTERNAL, details: "CA not ready" }),
  CA_NODE_REFUSED: () => ({ code: status.UNAUTHENTICATED, details: "request impersonation authentication failure" }),
};

export function replyOf({ code, reason }: CaError): Reply {
  return replies[code](reason);
}

const kinds: Readonly<Record<CaErrorCode, RefusalKind>> = {
  CA_BAD_CSR: "csr",
  CA_BAD_TTL: "ttl",
  CA_UNKNOWN_SIGNER: "signer",
  CA_NAME_REFUSED: "name",
  CA_NOT_READY: "not_ready",
  CA_BAD_MATERIAL: "not_ready",
  CA_BUSY: "busy",
  CA_SIGNER_FAILED: "signer",
  CA_BAD_BUNDLE: "not_ready",
  CA_ROTATION: "not_ready",
  CA_NODE_REFUSED: "name",
};

export function kindOf({ code }: CaError): RefusalKind {
  return kinds[code];
}
