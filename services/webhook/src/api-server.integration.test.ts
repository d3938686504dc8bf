/**
 * A real kube-apiserver that calls this webhook: pods come out injected, validation refuses, caBundle and failurePolicy are written by us, also
 * with NATS stopped and nothing else of the control plane there; and what happens while the webhook itself is away.
 */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { connectBus, createPublisher } from "@flotilla/bus";
import { KubeError } from "@flotilla/kube-api";
import { type RunningApiserver, startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import { defaultMeshConfig } from "@flotilla/model";
import { noopLogger, until } from "@flotilla/runtime";
import { freePort, type RunningServer, startNats } from "@flotilla/servers";
import { parse, parseAllDocuments } from "yaml";
import { main } from "./main.ts";
import { signedByRoot } from "./testing/self-signed.ts";
import type { WebhookConfiguration } from "./watch/ca-bundles.ts";

const server: RunningApiserver | undefined = await startKubeApiserver(process.env);
const admission = "/apis/admissionregistration.k8s.io/v1";
const validating = `${admission}/validatingwebhookconfigurations`;
const pods = "/api/v1/namespaces/shop/pods";
const gateways = "/apis/networking.istio.io/v1/namespaces/shop/gateways";

function configuration(kind: string, url: string, more: object): object {
  const webhook = { name: "w.sidecar-injector.istio.io", admissionReviewVersions: ["v1"], sideEffects: "None" };
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    ...{ kind, metadata: { name: "flotilla" } },
    webhooks: [{ ...webhook, clientConfig: { url }, ...more }],
  };
}

const ingresses = "/apis/networking.k8s.io/v1/namespaces/shop/ingresses";
const gatewayApiGateways = "/apis/gateway.networking.k8s.io/v1/namespaces/shop/gateways";

/** The rules by which k8s/ sends objects of kinds that other controllers share. */
async function sharedRules(): Promise<object> {
  const text = await readFile(new URL("../../../k8s/base/admission.yaml", import.meta.url), "utf8");
  const objects = parseAllDocuments(text).map((document) => document.toJS() as WebhookConfiguration);
  const shared = objects.flatMap(({ webhooks = [] }) => webhooks).find(({ name }) => name.startsWith("shared."));
  const { rules, failurePolicy } = shared ?? assert.fail("no webhook of shared kinds");
  return { rules, failurePolicy };
}

/** The warnings of ours that a client is shown about an object that is accepted: the API server has its own about annotations. */
async function warningsOf(kubeconfig: string, path: string, object: object): Promise<readonly string[]> {
  const { clusters, users } = parse(await readFile(kubeconfig, "utf8")) as {
    readonly clusters: readonly [{ readonly cluster: { readonly server: string } }];
    readonly users: readonly [{ readonly user: { readonly token: string } }];
  };
  const headers = { "content-type": "application/json", authorization: `Bearer ${users[0].user.token}` };
  const { promise, resolve, reject } = Promise.withResolvers<readonly string[]>();
  const url = `${clusters[0].cluster.server}${path}`;
  const asked = request(url, { method: "POST", headers, rejectUnauthorized: false }, (response) => {
    const { statusCode, headersDistinct } = response;
    let text = "";
    response.setEncoding("utf8").on("data", (part: string) => {
      text += part;
    });
    response.on("end", () =>
      statusCode === 201
        ? resolve((headersDistinct["warning"] ?? []).filter((one) => one.startsWith('299 - "spec.')))
        : reject(new Error(`${statusCode}: ${text}`)),
    );
  });
  asked.on("error", reject);
  asked.end(JSON.stringify(object));
  return promise;
}

function ingress(name: string, className: string) {
  const backend = { service: { name: "a", port: { number: 80 } } };
  const paths = [{ path: "/[a-z]+", pathType: "ImplementationSpecific", backend }];
  return {
    ...{ apiVersion: "networking.k8s.io/v1", kind: "Ingress" },
    metadata: { name, annotations: { "kubernetes.io/ingress.class": className } },
    spec: { rules: [{ host: "a.example", http: { paths } }] },
  };
}

function definition(group: string): object {
  return {
    ...gatewayDefinition,
    metadata: {
      name: `gateways.${group}`,
      annotations: { "api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/gateway-api" },
    },
    spec: { ...gatewayDefinition.spec, group },
  };
}

const gatewayDefinition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "gateways.networking.istio.io" },
  spec: {
    ...{ group: "networking.istio.io", scope: "Namespaced" },
    names: { kind: "Gateway", plural: "gateways", singular: "gateway" },
    versions: [
      {
        ...{ name: "v1", served: true, storage: true },
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
      },
    ],
  },
};

interface InjectedPod {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: {
    readonly initContainers?: readonly {
      readonly name: string;
      readonly env?: readonly { readonly value?: string }[];
    }[];
  };
}

describe("an API server that calls this webhook", { skip: server === undefined && whyNoApiserver }, () => {
  const owned = new AsyncDisposableStack();
  let env: Record<string, string> = {};
  let url = "";
  let running: { readonly stop: AbortController; readonly ended: Promise<void> } | undefined;
  let nats: RunningServer | undefined;

  const api = () => (server as RunningApiserver).api;
  const create = (name: string): Promise<InjectedPod> =>
    api().create<InjectedPod>(pods, {
      ...{ apiVersion: "v1", kind: "Pod", metadata: { name, labels: { app: name } } },
      spec: { serviceAccountName: "default", containers: [{ name: "app", image: "app" }] },
    });
  const initNames = ({ spec }: InjectedPod) => (spec.initContainers ?? []).map(({ name }) => name);
  const refusalOf = (promise: Promise<unknown>): Promise<string> =>
    promise.then(
      () => "",
      (error: unknown) => (error instanceof KubeError ? error.message : Promise.reject(error)),
    );

  async function startWebhook(): Promise<void> {
    const stop = new AbortController();
    const { promise, resolve } = Promise.withResolvers<void>();
    const ended = main(env, stop.signal, { log: noopLogger, onReady: () => resolve() });
    running = { stop, ended };
    await Promise.race([promise, ended.then(() => assert.fail("ended"))]);
  }
  async function stopWebhook(): Promise<void> {
    running?.stop.abort();
    await running?.ended;
    running = undefined;
  }

  before(async () => {
    const { kubeconfig } = owned.use(server as RunningApiserver);
    const directory = await mkdtemp(join(tmpdir(), "webhook-api-server-"));
    owned.defer(() => rm(directory, { recursive: true }));
    nats = owned.use(await startNats({ env: process.env, directory: join(directory, "nats") }));
    owned.defer(stopWebhook);
    const file = (name: string) => join(directory, name);
    const { chainPem, keyPem, rootPem } = await signedByRoot("localhost");
    for (const [name, text] of [
      ["tls.crt", chainPem],
      ["tls.key", keyPem],
      ["root.crt", rootPem],
    ] as const)
      await writeFile(file(name), text);
    const port = await freePort();
    url = `https://localhost:${port}`;
    env = {
      ...{ WORK_DIR: file("work"), CLUSTER_KUBECONFIG: kubeconfig, BUS_URL: nats.url, FILE_POLL_INTERVAL: "20ms" },
      ...{ WEBHOOK_HOST: "127.0.0.1", WEBHOOK_PORT: String(port), HEALTH_HOST: "127.0.0.1", HEALTH_PORT: "0" },
      ...{ TLS_CERT_FILE: file("tls.crt"), TLS_KEY_FILE: file("tls.key"), WEBHOOK_CA_BUNDLE_FILE: file("root.crt") },
      ...{ WEBHOOK_URL: url },
    };
    for (const name of ["shop", "istio-system"])
      await api().create("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name } });
    await api().create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", gatewayDefinition);
    const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    await api().create(definitions, definition("gateway.networking.k8s.io"));
    for (const path of [gateways, gatewayApiGateways])
      await until(async () => (await refusalOf(api().get(path))) === "", { withinMs: 30_000, what: "the kind" });
    await startWebhook();
    const rules = { operations: ["CREATE"], apiVersions: ["v1"] };
    await api().create(
      `${admission}/mutatingwebhookconfigurations`,
      configuration("MutatingWebhookConfiguration", `${url}/inject`, {
        ...{ failurePolicy: "Fail", rules: [{ ...rules, apiGroups: [""], resources: ["pods"] }] },
      }),
    );
    await api().create(
      validating,
      configuration("ValidatingWebhookConfiguration", `${url}/validate`, {
        ...{ failurePolicy: "Ignore", rules: [{ ...rules, apiGroups: ["networking.istio.io"], resources: ["*"] }] },
      }),
    );
  });
  after(() => owned.disposeAsync());

  it("gets its caBundle from us, and pods are injected", async () => {
    const isInjected = async () => {
      const answer = await create("first").catch((error: unknown) => error);
      if (answer instanceof KubeError) return undefined;
      return initNames(answer as InjectedPod);
    };
    const names = await until(isInjected, { withinMs: 30_000, what: "an injected pod" });
    assert.deepEqual(names, ["istio-init", "istio-proxy"]);
  });

  it("refuses objects while no replica answers, once an invalid one was refused", async () => {
    const policy = async () =>
      (await api().get<WebhookConfiguration>(`${validating}/flotilla`))?.webhooks?.[0]?.failurePolicy;
    await until(async () => (await policy()) === "Fail", { withinMs: 30_000, what: "failurePolicy" });
    assert.equal((await api().get<{ readonly items: readonly unknown[] }>(gateways))?.items.length, 0);
    const wrong = { apiVersion: "networking.istio.io/v1", kind: "Gateway", metadata: { name: "wrong" }, spec: {} };
    assert.match(await refusalOf(api().create(gateways, wrong)), /denied the request: .*spec\.servers/);
  });

  it("shows warnings of Ingresses and Gateways that the mesh serves, and of no others", async () => {
    const { webhooks, ...rest } = configuration("ValidatingWebhookConfiguration", `${url}/validate`, {
      ...(await sharedRules()),
      name: "shared.validation.istio.io",
    }) as { readonly webhooks: object; readonly metadata: object };
    await api().create(validating, { ...rest, metadata: { name: "shared" }, webhooks });
    const { kubeconfig } = server as RunningApiserver;
    let count = 0;
    const found = async () => {
      const warnings = await warningsOf(kubeconfig, ingresses, ingress(`ours-${++count}`, "istio"));
      return warnings.length === 0 ? undefined : warnings;
    };
    const warnings = await until(found, { withinMs: 30_000, what: "a warning" });
    assert.equal(warnings.length, 1, String(warnings));
    assert.match(String(warnings), /spec\.rules\[0\]\.http\.paths\[0\]\.path: .*is compared as it is/);
    assert.deepEqual(await warningsOf(kubeconfig, ingresses, ingress("theirs", "nginx")), []);
    const gateway = (name: string, gatewayClassName: string) => ({
      ...{ apiVersion: "gateway.networking.k8s.io/v1", kind: "Gateway", metadata: { name } },
      spec: { gatewayClassName, listeners: [{ name: "a", port: 80, protocol: "http" }] },
    });
    const ofGateway = await warningsOf(kubeconfig, gatewayApiGateways, gateway("ours", "istio"));
    assert.match(String(ofGateway), /spec\.listeners\[0\]\.protocol: .*http.* is HTTP meant/);
    assert.deepEqual(await warningsOf(kubeconfig, gatewayApiGateways, gateway("theirs", "other")), []);
    const { webhooks: written } = (await api().get<WebhookConfiguration>(`${validating}/shared`)) ?? {};
    assert.equal(written?.[0]?.failurePolicy, "Ignore", "other controllers' objects are never held up");
  });

  it("is answered from the last state received from NATS after it stopped", async () => {
    const stop = new AbortController();
    {
      await using bus = await connectBus({ url: nats?.url ?? "", clientName: "test", log: noopLogger }, stop.signal);
      const part = { publisher: "config-controller", seal: undefined, log: noopLogger, nowMs: Date.now } as const;
      const key = { kind: "MeshConfig", namespace: "", name: "mesh" };
      const spec = { ...defaultMeshConfig, trustDomain: "from.bus" };
      const value = { key, labels: {}, annotations: {}, creationTimeMs: 0, spec };
      const change = { type: "config", op: "put", key, value } as const;
      await createPublisher({ bus, ...part }).publish([change], { eventTimeMs: Date.now() });
      let count = 0;
      const isHeard = async () => JSON.stringify(await create(`heard-${++count}`)).includes("from.bus");
      await until(isHeard, { withinMs: 30_000, what: "the mesh in a pod" });
    }
    await nats?.[Symbol.asyncDispose]();
    assert.match(JSON.stringify(await create("without-nats")), /from\.bus/);
    await stopWebhook();
    await startWebhook();
    assert.match(JSON.stringify(await create("after-a-start-without-nats")), /from\.bus/);
  });

  it("takes no pod while the webhook is away, and injects them when it is back", async () => {
    await stopWebhook();
    let count = 0;
    // A connection that the API server has kept may bring one more answer.
    const isAway = async () => (await refusalOf(create(`away-${++count}`))).includes("failed calling webhook");
    await until(isAway, { withinMs: 30_000, what: "a refusal" });
    assert.equal(await refusalOf(api().create(ingresses, ingress("while-away", "istio"))), "");
    await startWebhook();
    const isBack = async () => (await create("back").catch(() => undefined)) as InjectedPod | undefined;
    const pod = await until(isBack, { withinMs: 30_000, what: "a pod" });
    assert.deepEqual(initNames(pod), ["istio-init", "istio-proxy"]);
  });
});
