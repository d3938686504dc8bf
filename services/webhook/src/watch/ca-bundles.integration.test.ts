/** caBundle of webhook configurations on a real kube-apiserver: filled in, repaired, and never touched where it is somebody else's. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type KubeApi, KubeError } from "@flotilla/kube-api";
import { type RunningApiserver, startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import { certificatePem, generatePrivateKey, issueRoot } from "@flotilla/pki";
import { noopLogger, until } from "@flotilla/runtime";
import { CaBundles, type WebhookConfiguration } from "./ca-bundles.ts";

const server: RunningApiserver | undefined = await startKubeApiserver(process.env);
const collection = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
const ours = { name: "flotilla-webhook", namespace: "istio-system" };
const theirs = { name: "istiod", namespace: "istio-system" };

async function rootPem(organization: string): Promise<string> {
  const times = { notBeforeMs: Date.now() - 60_000, notAfterMs: Date.now() + 3_600_000 };
  const subject = { organization };
  const key = await generatePrivateKey("ecdsa-p256");
  return certificatePem(issueRoot({ serial: Buffer.alloc(16, 1), subject, ...times }, key));
}

function configuration(name: string, services: readonly object[]): object {
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name },
    webhooks: services.map((service, index) => ({
      name: `w${index}.validation.istio.io`,
      clientConfig: { service: { ...service, path: "/validate" } },
      admissionReviewVersions: ["v1"],
      sideEffects: "None",
      rules: [{ operations: ["CREATE"], apiGroups: ["x.istio.io"], apiVersions: ["*"], resources: ["*"] }],
    })),
  };
}

describe("caBundle of webhook configurations", { skip: server === undefined && whyNoApiserver }, () => {
  const stop = new AbortController();
  let directory = "";
  let rootFile = "";
  let works = false;
  let running: Promise<unknown> = Promise.resolve();

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "webhook-bundles-"));
    rootFile = join(directory, "root-cert.pem");
    const options = {
      ...{ api: api(), service: ours, url: "https://outside.example:443", rootFile, pollMs: 20 },
      ...{ log: noopLogger, random: Math.random, isRefused: async () => works },
    };
    // Two at once, as when a lease goes over: neither may undo what the other writes.
    running = Promise.all([new CaBundles(options).run(stop.signal), new CaBundles(options).run(stop.signal)]);
  });
  after(async () => {
    stop.abort();
    await running;
    await server?.[Symbol.asyncDispose]();
    await rm(directory, { recursive: true });
  });

  function api(): KubeApi {
    assert.ok(server !== undefined);
    return server.api;
  }
  async function bundlesOf(name: string): Promise<readonly (string | undefined)[]> {
    const found = await api().get<WebhookConfiguration>(`${collection}/${name}`);
    const texts = found?.webhooks?.map(({ clientConfig: { caBundle } }) => caBundle) ?? [];
    return texts.map((text) => text && Buffer.from(text, "base64").toString());
  }
  const holds = (name: string, expected: readonly (string | undefined)[]) =>
    until(async () => JSON.stringify(await bundlesOf(name)) === JSON.stringify(expected), {
      withinMs: 60_000,
      what: `caBundle of ${name}`,
    });

  it("is the root as soon as there is one, in the webhooks that lead here and in no other", async () => {
    await api().create(collection, configuration("mixed", [ours, theirs, { ...ours, namespace: "elsewhere" }]));
    const root = await rootPem("first");
    await writeFile(rootFile, root);
    await holds("mixed", [root, undefined, undefined]);
  });

  it("follows the root", async () => {
    const root = await rootPem("second");
    await writeFile(rootFile, root);
    await holds("mixed", [root, undefined, undefined]);
  });

  it("is repaired when it is edited, and filled in when a configuration comes later", async () => {
    const [root] = await bundlesOf("mixed");
    const edited = await api().get<WebhookConfiguration>(`${collection}/mixed`);
    const other = Buffer.from(await rootPem("wrong")).toString("base64");
    const webhooks = edited?.webhooks?.map((one) => ({
      ...one,
      clientConfig: { ...one.clientConfig, caBundle: other },
    }));
    try {
      await api().replace(`${collection}/mixed`, { ...edited, webhooks });
    } catch (error) {
      assert.ok(error instanceof KubeError && error.code === "KUBE_CONFLICT", String(error));
    }
    await until(async () => (await bundlesOf("mixed"))[0] === root, { withinMs: 60_000, what: "the repair" });
    await api().create(collection, configuration("late", [ours]));
    await holds("late", [root]);
  });

  it("is written where a configuration names the webhook by its URL", async () => {
    const [root] = await bundlesOf("mixed");
    const [webhook] = (configuration("url", [ours]) as WebhookConfiguration).webhooks ?? [];
    const at = (address: string) => ({
      ...webhook,
      name: `w${address.length}.x.istio.io`,
      clientConfig: { url: address },
    });
    const webhooks = [at("https://outside.example:443/validate"), at("https://other.example/validate")];
    await api().create(collection, { ...configuration("url", []), webhooks });
    await holds("url", [root, undefined]);
  });

  it("lets configurations fail closed once validation works, those of others never", async () => {
    const policies = async () =>
      (await api().get<WebhookConfiguration>(`${collection}/open`))?.webhooks?.map((one) => one.failurePolicy);
    const open = configuration("open", [ours, theirs]) as WebhookConfiguration;
    const webhooks = open.webhooks?.map((one) => ({ ...one, failurePolicy: "Ignore" }));
    await api().create(collection, { ...open, webhooks });
    await until(async () => (await bundlesOf("open"))[0] !== undefined, { withinMs: 60_000, what: "the root" });
    assert.deepEqual(await policies(), ["Ignore", "Ignore"]);
    works = true;
    await until(async () => (await policies())?.[0] === "Fail", { withinMs: 60_000, what: "failurePolicy" });
    assert.deepEqual(await policies(), ["Fail", "Ignore"]);
  });

  it("writes nothing while nothing changes", async () => {
    const version = async () => (await api().metadata(`${collection}/late`))?.metadata.resourceVersion;
    const before = await version();
    await api().create(collection, configuration("last", [ours]));
    await until(async () => (await bundlesOf("last"))[0] !== undefined, { withinMs: 60_000, what: "the last one" });
    assert.equal(await version(), before);
  });
});
