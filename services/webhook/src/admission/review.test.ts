/** AdmissionReviews: parsing of requests, refusals, and encoding of responses. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { WebhookError } from "../errors.ts";
import { formatReview, parseReview } from "./review.ts";

const kind = { group: "networking.istio.io", version: "v1", kind: "VirtualService" };
const object = { apiVersion: "networking.istio.io/v1", kind: "VirtualService", metadata: { name: "a" } };
const request = { uid: "u1", kind, namespace: "shop", name: "a", operation: "CREATE", dryRun: true, object };
const question = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request };
const parse = (value: unknown) => parseReview(Buffer.from(JSON.stringify(value)));

describe("a review's question", () => {
  it("is read whole, in both versions", () => {
    const body = Buffer.from(JSON.stringify(question));
    assert.deepEqual(parse(question), { apiVersion: "admission.k8s.io/v1", request: { ...request, body } });
    assert.equal(parse({ ...question, apiVersion: "admission.k8s.io/v1beta1" }).apiVersion, "admission.k8s.io/v1beta1");
  });
  it("may leave out everything but the UID", () => {
    const { body: _, ...read } = parse({ ...question, request: { uid: "u1" } }).request;
    assert.deepEqual(read, {
      ...{ uid: "u1", kind: { group: "", version: "", kind: "" }, namespace: "", name: "" },
      ...{ operation: "", dryRun: false, object: undefined },
    });
  });
  it("has no object in a DELETE, and none of another form", () => {
    for (const other of [null, undefined, [], "text"])
      assert.equal(parse({ ...question, request: { ...request, object: other } }).request.object, undefined);
  });
  it("is a dry run only when it is true", () => {
    for (const dryRun of [false, undefined, "true", 1])
      assert.equal(parse({ ...question, request: { ...request, dryRun } }).request.dryRun, false);
  });
  for (const [name, value, reason] of [
    ["another kind", { ...question, kind: "TokenReview" }, /kind is "TokenReview"/],
    ["another version", { ...question, apiVersion: "admission.k8s.io/v2" }, /"admission.k8s.io\/v2" is not supported/],
    ["no request", { ...question, request: undefined }, /request is missing/],
    ["no UID", { ...question, request: { ...request, uid: 7 } }, /request.uid is missing/],
    ["a list", [question], /the body is no object/],
    ["nothing", null, /the body is no object/],
  ] as const)
    it(`is refused: ${name}`, () => assert.throws(() => parse(value), isMalformed(reason)));
  it("is refused when it is no JSON or no UTF-8", () => {
    assert.throws(() => parseReview(Buffer.from("{")), isMalformed(/could not decode body/));
    assert.throws(() => parseReview(Buffer.from([0x22, 0xff, 0x22])), isMalformed(/could not decode body/));
  });
});

describe("a review's answer", () => {
  const answer = (given: Parameters<typeof formatReview>[2]) => formatReview("admission.k8s.io/v1", "u1", given);
  const head = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview" };
  it("allows without more", () => {
    const expected = { ...head, response: { uid: "u1", allowed: true } };
    assert.deepEqual(answer({ allowed: true }), expected);
    assert.deepEqual(answer({ allowed: true, warnings: [], patch: [] }), expected);
  });
  it("refuses with a message", () => {
    const response = { uid: "u1", allowed: false, status: { message: "no" } };
    assert.deepEqual(answer({ allowed: false, message: "no" }), { ...head, response });
  });
  it("carries warnings and a patch", () => {
    const patch = [{ op: "add", path: "/a", value: 1 }] as const;
    const encoded = Buffer.from(JSON.stringify(patch)).toString("base64");
    const response = { uid: "u1", allowed: true, warnings: ["w"], patchType: "JSONPatch", patch: encoded };
    assert.deepEqual(answer({ allowed: true, warnings: ["w"], patch }), { ...head, response });
  });
});

function isMalformed(reason: RegExp) {
  return (error: unknown): boolean =>
    error instanceof WebhookError && error.code === "ADMISSION_MALFORMED" && reason.test(error.message);
}
