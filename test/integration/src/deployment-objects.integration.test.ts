/** The objects of k8s/ on a real kube-apiserver: it takes all of them, field by field, and their rights are what the services need. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { requestFromSigner } from "@flotilla/auth/cluster";
import { type KubeApi, type KubeObject, loadKubeConfig, openKubeApi } from "@flotilla/kube-api";
import { type RunningApiserver, startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import { buildCsr, certificatePem, csrPem, generatePrivateKey, issueRoot } from "@flotilla/pki";
import { delay, noopLogger } from "@flotilla/runtime";
import { isRight, objectsIn, pathOf, signer } from "./transport/objects.ts";

interface Request extends KubeObject {
  readonly spec: { readonly signerName: string };
  readonly status?: { readonly conditions?: readonly { readonly type: string }[]; readonly certificate?: string };
}

const server: RunningApiserver | undefined = await startKubeApiserver(process.env);
const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

describe("the objects of k8s", { skip: server === undefined && whyNoApiserver }, () => {
  const owned = new AsyncDisposableStack();
  const stop = new AbortController();
  const components = [
    ...["autoscaling", "cluster-signer", "cluster-trust-bundle", "console", "crds"],
    ...["external-control-plane", "external-signer"],
  ];
  const all = [...objectsIn("k8s/base"), ...components.flatMap((name) => objectsIn(`k8s/components/${name}`))];

  before(async () => {
    await api().create("/api/v1/namespaces", { metadata: { name: "istio-system" } });
  });
  after(async () => {
    stop.abort();
    await owned.disposeAsync();
    await server?.[Symbol.asyncDispose]();
  });

  function api(): KubeApi {
    assert.ok(server !== undefined);
    return server.api;
  }

  /** As a pod of that account. */
  async function apiOf(account: string): Promise<KubeApi> {
    const path = `/api/v1/namespaces/istio-system/serviceaccounts/${account}/token`;
    const kind = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
    const { status } = await api().create<{ readonly status: { readonly token: string } }>(path, kind);
    const config = await loadKubeConfig({ KUBECONFIG: server?.kubeconfig });
    assert.ok(config !== undefined);
    const { token: _, ...credentials } = await config.credentials();
    return owned.use(
      openKubeApi({ server: config.server, credentials: async () => ({ ...credentials, token: status.token }) }),
    );
  }

  /** Acts as a controller of the cluster: signs every approved request. */
  async function signApproved(end: AbortSignal): Promise<void> {
    const key = await generatePrivateKey("ecdsa-p256");
    const times = { notBeforeMs: Date.now() - 60_000, notAfterMs: Date.now() + 3_600_000 };
    const root = issueRoot({ serial: Buffer.alloc(16, 1), subject: { organization: "signer" }, ...times }, key);
    const certificate = Buffer.from(certificatePem(root)).toString("base64");
    for (; !end.aborted; await delay(50, end)) {
      const { items = [] } = (await api().get<{ readonly items?: readonly Request[] }>(requests)) ?? {};
      for (const request of items) {
        const isApproved = request.status?.conditions?.some(({ type }) => type === "Approved") === true;
        if (!isApproved || request.status?.certificate !== undefined) continue;
        const status = { ...request.status, certificate };
        await api().replace(`${requests}/${request.metadata.name}/status`, { ...request, status });
      }
    }
  }

  for (const object of all.filter(({ kind }) => kind !== "Namespace")) {
    it(`${object.kind} ${object.metadata.name} has no field that Kubernetes does not know`, async () => {
      await api().create(`${pathOf(object)}?dryRun=All&fieldValidation=Strict`, object);
    });
  }

  it("xds-server and webhook may ask the signer that is named, and no other; others may ask none", {
    timeout: 180_000,
  }, async () => {
    for (const object of all.filter(isRight)) await api().create(pathOf(object), object);
    const csr = csrPem(buildCsr({ key: await generatePrivateKey("ecdsa-p256"), sans: [] }));
    const ask = async (account: string, signer: string) =>
      requestFromSigner(await apiOf(account), { signer, csrPem: csr, ttlMs: 3_600_000 }, noopLogger);
    const signing = signApproved(stop.signal);
    for (const account of ["flotilla-xds-server", "flotilla-webhook"]) {
      assert.match(await ask(account, signer), /BEGIN CERTIFICATE/);
      await assert.rejects(ask(account, "example.com/other"), /not permitted to approve|forbidden/);
    }
    await assert.rejects(ask("flotilla-service-controller", signer), /forbidden/);
    const left = await api().get<{ readonly items: readonly unknown[] }>(requests);
    assert.deepEqual(left?.items, [], "what was asked for is taken away again");
    stop.abort();
    await signing;
  });
});
