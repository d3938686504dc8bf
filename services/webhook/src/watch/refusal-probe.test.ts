/** Checks that the API server's answer to an object which validation always rejects is this webhook's rejection. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { KubeError, type KubeErrorCode } from "@flotilla/kube-api";
import { createMemoryApi } from "@flotilla/kube-api/memory";
import { isRefused } from "./refusal-probe.ts";

const denied = 'admission webhook "validation.istio.io" denied the request: always';

async function probe(refusal: Error | undefined) {
  const memory = createMemoryApi();
  memory.refusal = () => refusal as KubeError | undefined;
  const result = await isRefused({ api: memory.api, namespace: "mesh", revision: "canary" });
  return { result, writes: memory.writes };
}

const refusals: readonly (readonly [name: string, code: KubeErrorCode, message: string, isRefused: boolean])[] = [
  ["the refusal of a webhook", "KUBE_REFUSED", denied, true],
  ["the refusal of a right", "KUBE_REFUSED", 'User "x" cannot create resource "gateways"', false],
  ["a webhook that does not answer", "KUBE_REFUSED", 'failed calling webhook "validation.istio.io": refused', false],
  ["an API server that is away", "KUBE_AWAY", denied, false],
];

describe("validation is known to work", () => {
  for (const [name, code, message, expected] of refusals)
    it(`${expected ? "by" : "not by"} ${name}`, async () => {
      assert.equal((await probe(new KubeError(code, message))).result, expected);
    });
  it("not where the API server takes the object, which is a dry run of the webhook's revision", async () => {
    const { result, writes } = await probe(undefined);
    assert.equal(result, false);
    assert.equal(writes[0]?.path, "/apis/networking.istio.io/v1/namespaces/mesh/gateways?dryRun=All");
    assert.deepEqual((writes[0]?.object as { readonly metadata?: object } | undefined)?.metadata, {
      generateName: "flotilla-validation-probe-",
      namespace: "mesh",
      labels: { "istio.io/rev": "canary" },
      annotations: { "internal.istio.io/webhook-always-reject": "true" },
    });
  });
  it("not by a failure that is no answer, which is an error", () =>
    assert.rejects(probe(new TypeError("broken")), /broken/));
});
