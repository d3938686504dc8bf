/** Two real kube-apiservers: with EXTERNAL_ISTIOD injection webhooks of a cluster that names this one get the caBundle, whatever address they name. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { KubeApi } from "@flotilla/kube-api";
import { type RunningApiserver, startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import { certificatePem, generatePrivateKey, issueRoot } from "@flotilla/pki";
import { noopLogger, until } from "@flotilla/runtime";
import { readSettings } from "../settings.ts";
import type { WebhookConfiguration } from "./ca-bundles.ts";
import { keepCaBundles } from "./keep-ca-bundles.ts";

const own: RunningApiserver | undefined = await startKubeApiserver(process.env);
const remote: RunningApiserver | undefined = own && (await startKubeApiserver(process.env));
const collection = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
const soon = (what: string) => ({ withinMs: 60_000, what, everyMs: 100 });

/** As istioctl writes it for a cluster with a remote control plane: two webhooks, one of them not ours. */
function configuration(name: string, revision: string): object {
  const webhook = (called: string) => ({
    name: called,
    clientConfig: { url: "https://control-plane.example:15017/inject/cluster/east" },
    admissionReviewVersions: ["v1"],
    sideEffects: "None",
    rules: [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] }],
    failurePolicy: "Ignore",
  });
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingWebhookConfiguration",
    metadata: { name, labels: { "istio.io/rev": revision } },
    webhooks: [webhook("rev.namespace.sidecar-injector.istio.io"), webhook("other.example.com")],
  };
}

async function rootPem(): Promise<string> {
  const times = { notBeforeMs: Date.now() - 60_000, notAfterMs: Date.now() + 3_600_000 };
  const key = await generatePrivateKey("ecdsa-p256");
  return certificatePem(issueRoot({ serial: Buffer.alloc(16, 1), subject: { organization: "us" }, ...times }, key));
}

describe("injection in another cluster", { skip: own === undefined && whyNoApiserver }, () => {
  const stop = new AbortController();
  let [directory, root] = ["", ""];
  let running: Promise<unknown> = Promise.resolve();
  const servers = (): readonly [KubeApi, KubeApi] => {
    assert.ok(own !== undefined && remote !== undefined);
    return [own.api, remote.api];
  };
  const bundlesOf = async (name: string) => {
    const found = await servers()[1].get<WebhookConfiguration>(`${collection}/${name}`);
    const texts = found?.webhooks?.map(({ clientConfig: { caBundle } }) => caBundle) ?? [];
    return texts.map((text) => text && Buffer.from(text, "base64").toString());
  };

  before(async () => {
    const [home, east] = servers();
    directory = await mkdtemp(join(tmpdir(), "webhook-controlled-"));
    root = await rootPem();
    await writeFile(join(directory, "root.pem"), root);
    await home.create("/api/v1/namespaces", { metadata: { name: "istio-system" } });
    const annotations = { "topology.istio.io/controlPlaneClusters": "main" };
    await east.create("/api/v1/namespaces", { metadata: { name: "istio-system", annotations } });
    await east.create(collection, configuration("ours", "default"));
    await east.create(collection, configuration("theirs", "canary"));
    await home.create("/api/v1/namespaces/istio-system/secrets", {
      metadata: { name: "east", labels: { "istio/multiCluster": "true" } },
      stringData: { east: await readFile(remote?.kubeconfig ?? "", "utf8") },
    });
    const settings = readSettings({
      ...{ CLUSTER_KUBECONFIG: own?.kubeconfig ?? "", CLUSTER_ID: "main", EXTERNAL_ISTIOD: "true" },
      ...{ WEBHOOK_CA_BUNDLE_FILE: join(directory, "root.pem"), WORK_DIR: directory },
    });
    running = keepCaBundles(settings, { version: "1.0.0", log: noopLogger }, stop.signal);
  });
  after(async () => {
    stop.abort();
    await running;
    await own?.[Symbol.asyncDispose]();
    await remote?.[Symbol.asyncDispose]();
    await rm(directory, { recursive: true });
  });

  it("has the root in the webhooks of injection of our revision, and in no other", async () => {
    await until(async () => (await bundlesOf("ours"))[0] === root, soon("the caBundle of ours"));
    assert.deepEqual(await bundlesOf("ours"), [root, undefined]);
    assert.deepEqual(await bundlesOf("theirs"), [undefined, undefined]);
  });

  it("has it again when a configuration is applied anew", async () => {
    const [, east] = servers();
    await east.delete(`${collection}/ours`);
    await east.create(collection, configuration("ours", "default"));
    await until(async () => (await bundlesOf("ours"))[0] === root, soon("the caBundle of the new one"));
  });
});
