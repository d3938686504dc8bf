import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Logger, noopLogger } from "@flotilla/runtime";
import { requestFromSigner } from "./certificate-request.ts";
import { fakeApi, type Request, refusedByApi } from "./fake-api.fixture.ts";

const path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const made = { metadata: { name: "csr-1", resourceVersion: "7" }, spec: {} };
const pem = "-----BEGIN CERTIFICATE-----\n";
const signed = { status: { certificate: Buffer.from(pem).toString("base64") } };

/** `looks`: what the request looks like, each time that it is looked at. */
async function ask(
  looks: readonly unknown[],
  { ttlMs = 3_600_400, fails }: { readonly ttlMs?: number; readonly fails?: Request["method"] } = {},
) {
  const left = [...looks];
  const { api, requests } = fakeApi(({ method }) => {
    if (method === fails) throw refusedByApi(`no ${method}`);
    return method === "create" ? made : method === "get" ? left.shift() : true;
  });
  const warned: unknown[] = [];
  const log: Logger = { ...noopLogger, warn: (_, fields) => void warned.push(fields?.["name"]) };
  const call = { signer: "a.b/c", csrPem: "the request", ttlMs };
  const outcome = await requestFromSigner(api, call, log).catch((error: unknown) => error);
  return { outcome, requests, warned };
}

const methods = (requests: readonly Request[]) => requests.map((one) => `${one.method} ${one.path.slice(path.length)}`);

describe("a certificate from a Kubernetes signer", () => {
  it("is asked for, approved, waited for, and its request is deleted", async () => {
    const { outcome, requests, warned } = await ask([{}, { status: { certificate: "" } }, signed]);
    assert.equal(outcome, pem);
    const look = "get /csr-1";
    assert.deepEqual(methods(requests), [...["create ", "replace /csr-1/approval", look, look, look, "delete /csr-1"]]);
    const [{ body }, { body: approval }] = requests as unknown as [{ body: typeof made }, { body: object }];
    assert.deepEqual(body.spec, {
      request: Buffer.from("the request").toString("base64"),
      signerName: "a.b/c",
      usages: ["digital signature", "key encipherment", "server auth", "client auth"],
      expirationSeconds: 3600,
    });
    assert.deepEqual(approval, {
      ...made,
      status: {
        conditions: [{ type: "Approved", status: "True", reason: "FlotillaApproved", message: "the caller is proven" }],
      },
    });
    assert.deepEqual(warned, []);
  });

  it("lives ten minutes at least", async () => {
    const { requests } = await ask([signed], { ttlMs: 60_000 });
    const [{ body }] = requests as unknown as [{ body: { spec: { expirationSeconds: number } } }];
    assert.equal(body.spec.expirationSeconds, 600);
  });

  const condition = (type: string, reason?: string) => ({ ...signed, status: { conditions: [{ type, reason }] } });
  const failures: readonly (readonly [string, readonly unknown[], Request["method"] | undefined, RegExp])[] = [
    ["is denied", [condition("Denied", "NotYou")], undefined, /signer a\.b\/c: Denied NotYou/],
    ["fails", [condition("Approved"), condition("Failed")], undefined, /signer a\.b\/c: Failed/],
    ["vanishes", [undefined], undefined, /the request was deleted/],
    ["may not be approved", [], "replace", /no replace/],
    ["may not be looked at", [], "get", /no get/],
  ];
  for (const [name, looks, fails, message] of failures)
    it(`is not had when the request ${name}, which is deleted`, async () => {
      const { outcome, requests } = await ask(looks, fails && { fails });
      assert.deepEqual((outcome as { code: string }).code, "AUTH_SIGNER_FAILED");
      assert.match((outcome as Error).message, message);
      assert.equal(methods(requests).at(-1), "delete /csr-1");
    });

  it("is not had when no request may be made", async () => {
    const { outcome, requests } = await ask([], { fails: "create" });
    assert.match((outcome as Error).message, /AUTH_SIGNER_FAILED.*no create/);
    assert.deepEqual(methods(requests), ["create "]);
  });

  it("is good where the request cannot be deleted, which is logged", async () => {
    const { outcome, warned } = await ask([signed], { fails: "delete" });
    assert.deepEqual([outcome, warned], [pem, ["csr-1"]]);
  });

  it("other errors are passed on as they are", async () => {
    const { api } = fakeApi(() => Promise.reject(new RangeError("a defect")));
    const call = { signer: "a.b/c", csrPem: "x", ttlMs: 1 };
    await assert.rejects(requestFromSigner(api, call, noopLogger), RangeError);
  });
});
