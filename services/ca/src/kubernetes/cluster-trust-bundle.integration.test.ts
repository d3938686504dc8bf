/** The roots in a ClusterTrustBundle of a real kube-apiserver. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { type KubeApi, KubeError, type KubeObject } from "@flotilla/kube-api";
import { type RunningApiserver, startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import { until } from "@flotilla/runtime";
import { startCa } from "../main.fixture.ts";

const server: RunningApiserver | undefined = await startKubeApiserver(process.env, [
  "--feature-gates=ClusterTrustBundle=true",
  "--runtime-config=certificates.k8s.io/v1beta1/clustertrustbundles=true",
]);
after(() => server?.[Symbol.asyncDispose]());

interface Bundle extends KubeObject {
  readonly spec: { readonly signerName: string; readonly trustBundle: string };
}
const path = "/apis/certificates.k8s.io/v1beta1/clustertrustbundles/istio.io:istiod-ca:root-cert";

describe("the ClusterTrustBundle", { skip: server === undefined && whyNoApiserver }, () => {
  it("has the roots, and again when it is edited or deleted", async () => {
    const api = server?.api as KubeApi;
    await api.create("/api/v1/namespaces", { metadata: { name: "istio-system" } });
    const env = { CLUSTER_KUBECONFIG: server?.kubeconfig ?? "", ENABLE_CLUSTER_TRUST_BUNDLE_API: "true" };
    await using ca = await startCa(env);
    const isRight = async (): Promise<boolean> => {
      const bundle = await api.get<Bundle>(path);
      return bundle?.spec.trustBundle === ca.rootsPem && bundle.spec.signerName === "istio.io/istiod-ca";
    };
    const right = (what: string) => until(isRight, { withinMs: 60_000, what, everyMs: 100 });
    await right("the bundle");
    await api.delete(path);
    await right("the bundle again");
    const bundle = await api.get<Bundle>(path);
    assert.ok(bundle !== undefined);
    try {
      await api.replace(path, { ...bundle, spec: { ...bundle.spec, trustBundle: ca.rootsPem + ca.rootsPem } });
    } catch (error) {
      // The API server refuses a root that is there twice: then there is nothing to repair.
      assert.ok(error instanceof KubeError);
    }
    await right("the bundle as it was");
  });
});
