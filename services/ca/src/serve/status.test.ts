/** Answers to callers who are refused: gRPC's code, a sentence without inner details, and the label of the metric. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { status } from "@grpc/grpc-js";
import { CaError, type CaErrorCode } from "../errors.ts";
import { internal, kindOf, replyOf, unauthenticated } from "./status.ts";

const cases: Readonly<Record<CaErrorCode, readonly [code: status, details: string, kind: string]>> = {
  CA_BAD_CSR: [status.INVALID_ARGUMENT, "CSR parsing error", "csr"],
  CA_BAD_TTL: [status.INVALID_ARGUMENT, "CSR signing error (why)", "ttl"],
  CA_UNKNOWN_SIGNER: [status.INVALID_ARGUMENT, "CSR signing error (unknown signer)", "signer"],
  CA_NAME_REFUSED: [status.PERMISSION_DENIED, "CSR signing error (why)", "name"],
  CA_NOT_READY: [status.INTERNAL, "CA not ready", "not_ready"],
  CA_BAD_MATERIAL: [status.INTERNAL, "CA not ready", "not_ready"],
  CA_BUSY: [status.RESOURCE_EXHAUSTED, "too many requests of this identity, try again later", "busy"],
  CA_SIGNER_FAILED: [status.INTERNAL, "CSR signing error (the signer has not signed)", "signer"],
  CA_BAD_BUNDLE: [status.INTERNAL, "CA not ready", "not_ready"],
  CA_ROTATION: [status.INTERNAL, "CA not ready", "not_ready"],
  CA_NODE_REFUSED: [status.UNAUTHENTICATED, "request impersonation authentication failure", "name"],
};
for (const [code, [expected, details, kind]] of Object.entries(cases))
  it(`${code} is answered by ${status[expected]}`, () => {
    const error = new CaError(code as CaErrorCode, "why");
    assert.deepEqual([replyOf(error), kindOf(error)], [{ code: expected, details }, kind]);
  });

it("callers that are not proven, and failures of our own, are answered without a reason", () => {
  assert.deepEqual(unauthenticated, { code: status.UNAUTHENTICATED, details: "request authenticate failure" });
  assert.deepEqual(internal, { code: status.INTERNAL, details: "internal error" });
});
