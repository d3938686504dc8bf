/** Refusals in the form that kubectl reads. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { StoreError, type StoreErrorCode } from "@flotilla/model";
import { ApiError, fromStore, statusOf } from "./api-error.ts";

const status = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure" };

describe("a refusal", () => {
  it("has a status, a reason and a message", () => {
    const error = new ApiError(403, "Forbidden", "no");
    assert.deepEqual(statusOf(error), { ...status, message: "no", reason: "Forbidden", code: 403 });
  });
  it("names its causes where there are some", () => {
    const causes = [{ field: "spec.hosts", message: "is missing" }];
    assert.deepEqual(statusOf(new ApiError(422, "Invalid", "no", causes)), {
      ...{ ...status, message: "no", reason: "Invalid", code: 422 },
      details: { causes: [{ reason: "FieldValueInvalid", field: "spec.hosts", message: "is missing" }] },
    });
  });

  const codes: readonly (readonly [StoreErrorCode, number, string])[] = [
    ["STORE_CONFLICT", 409, "Conflict"],
    ["STORE_ALREADY_EXISTS", 409, "AlreadyExists"],
    ["STORE_NOT_FOUND", 404, "NotFound"],
    ["STORE_READ_ONLY", 405, "MethodNotAllowed"],
    ["STORE_BAD_KEY", 400, "BadRequest"],
    ["STORE_INVALID", 422, "Invalid"],
    ["STORE_TOO_LARGE", 413, "RequestEntityTooLarge"],
    ["STORE_BUSY", 429, "TooManyRequests"],
    ["STORE_AWAY", 503, "ServiceUnavailable"],
  ];
  for (const [code, number, reason] of codes)
    it(`of the store with ${code} is ${number} ${reason}, without the code in its message`, () => {
      const error = fromStore(new StoreError(code, { kind: "Sidecar", namespace: "shop", name: "a" }, "no [X] room"));
      assert.deepEqual([error.status, error.reason], [number, reason]);
      assert.match(error.message, /^[^[]*shop[^[]* no \[X\] room$/);
    });
});
