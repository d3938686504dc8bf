/** A real API server that goes away, refuses, takes credentials back and loses kinds: nothing of that takes anything out of force. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { type KubeApi, type KubeObject, loadKubeConfig, openKubeApi } from "@flotilla/kube-api";
import { type RunningApiserver, startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import { noopLogger, until } from "@flotilla/runtime";
import { parseAllDocuments } from "yaml";
import { configAdmission } from "../config-source.ts";
import { type KubernetesOptions, kubernetesConfig } from "./kubernetes-source.ts";

const server: RunningApiserver | undefined = await startKubeApiserver(process.env);
const directory = await mkdtemp(join(tmpdir(), "kubernetes-faults-"));
after(async () => {
  await server?.[Symbol.asyncDispose]();
  await rm(directory, { recursive: true, force: true });
});

const crds = fileURLToPath(new URL("../../../../../packages/kinds/crds/istio.yaml", import.meta.url));
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const networking = "/apis/networking.istio.io/v1/namespaces/default";
const soon = (what: string) => ({ withinMs: 60_000, what, everyMs: 50 });

function admin(): KubeApi {
  if (server === undefined) throw new Error(whyNoApiserver);
  return server.api;
}

function virtualService(name: string, labels: Readonly<Record<string, string>> = {}): object {
  return {
    apiVersion: "networking.istio.io/v1",
    kind: "VirtualService",
    metadata: { name, namespace: "default", labels },
    spec: { hosts: [name], http: [{ route: [{ destination: { host: name } }] }] },
  };
}

async function createSoon(path: string, object: object): Promise<void> {
  const create = () =>
    admin()
      .create(path, object)
      .then(
        () => true,
        () => false,
      );
  await until(create, soon(`${path} to take an object`));
}

async function define(wanted: (plural: string) => boolean): Promise<void> {
  for (const document of parseAllDocuments(await readFile(crds, "utf8"))) {
    const definition = document.toJS() as KubeObject | null;
    if (definition !== null && wanted(definition.metadata.name ?? "")) await admin().create(definitions, definition);
  }
}

/** The reports of the source, while `check` runs. */
async function following(
  kubeconfig: string,
  options: Partial<KubernetesOptions>,
  check: (reported: Reported) => Promise<void>,
): Promise<void> {
  const config = await loadKubeConfig({ KUBECONFIG: kubeconfig });
  assert.ok(config !== undefined);
  await using source = kubernetesConfig({
    ...{ api: openKubeApi(config), admission: configAdmission(), revision: "default", log: noopLogger },
    ...{ nowMs: Date.now, random: Math.random, onProblems: () => undefined, discoverMs: 200 },
    ...options,
  });
  const stop = new AbortController();
  const held = new Set<string>();
  const deleted: string[] = [];
  const state = { groups: 0 };
  const running = (async () => {
    for await (const { changes } of source.groups(stop.signal)) {
      state.groups++;
      for (const { op, key } of changes) {
        const name = `${key.kind}/${key.name}`;
        if (op === "put") held.add(name);
        else if (held.delete(name)) deleted.push(name);
      }
    }
  })();
  try {
    await until(() => state.groups > 0, soon("the first group"));
    await check({ source, held, deleted });
  } finally {
    stop.abort();
    await running;
  }
}
interface Reported {
  readonly source: ReturnType<typeof kubernetesConfig>;
  readonly held: ReadonlySet<string>;
  readonly deleted: readonly string[];
}

describe("a real API server in trouble", { skip: server === undefined && whyNoApiserver }, () => {
  before(async () => {
    await define(() => true);
    await createSoon(`${networking}/virtualservices`, virtualService("first"));
  });

  it("its restart takes nothing away, and what changes afterwards is seen", { timeout: 180_000 }, async () => {
    assert.ok(server !== undefined);
    await following(server.kubeconfig, {}, async ({ source, held, deleted }) => {
      assert.ok(held.has("VirtualService/first"));
      await server.stop();
      await until(() => source.problems().length > 0, soon("the problem to be reported"));
      await server.start();
      // It answers before it serves every path.
      await until(() => admin().delete(`${networking}/virtualservices/first`), soon("the delete to be taken"));
      await createSoon(`${networking}/virtualservices`, virtualService("second"));
      await until(() => held.has("VirtualService/second") && !held.has("VirtualService/first"), soon("the changes"));
      assert.deepEqual(deleted, ["VirtualService/first"]);
      await until(() => source.problems().length === 0, soon("the problems to be over"));
    });
  });

  it("refused kinds hold up nothing; a token that is replaced and revoked is not missed", {
    timeout: 180_000,
  }, async () => {
    assert.ok(server !== undefined);
    const tokens = await reader();
    const file = join(directory, "token");
    await writeFile(file, await tokens.next());
    const kubeconfig = await withTokenFile(server.kubeconfig, file);
    await following(kubeconfig, {}, async ({ source, held, deleted }) => {
      assert.ok(held.has("VirtualService/second"));
      const about = (kind: string) => source.problems().find(({ object }) => object === kind)?.reason;
      assert.match(about("Gateway") ?? "", /403.*forbidden/);
      const isIncomplete = (kind: string) => source.isIncomplete?.({ kind, namespace: "default", name: "x" });
      assert.deepEqual([isIncomplete("Gateway"), isIncomplete("VirtualService")], [true, false]);

      await writeFile(file, await tokens.next());
      await tokens.revokeFirst();
      // Every connection is made anew, and none by the token from before.
      await server.stop();
      await server.start();
      await createSoon(`${networking}/virtualservices`, virtualService("third"));
      await until(() => held.has("VirtualService/third"), soon("the change"));
      assert.deepEqual(deleted, []);
    });
  });

  it("a tag that points elsewhere takes its objects, and gives them back", { timeout: 180_000 }, async () => {
    assert.ok(server !== undefined);
    const webhooks = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
    const tag = (revision: string, metadata: object = {}) => ({
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "MutatingWebhookConfiguration",
      metadata: {
        ...metadata,
        name: "istio-revision-tag-stable",
        labels: { "istio.io/tag": "stable", "istio.io/rev": revision },
      },
    });
    const made = await admin().create(webhooks, tag("default"));
    await createSoon(`${networking}/virtualservices`, virtualService("tagged", { "istio.io/rev": "stable" }));
    await following(server.kubeconfig, {}, async ({ held }) => {
      assert.ok(held.has("VirtualService/tagged"));
      const path = `${webhooks}/istio-revision-tag-stable`;
      const moved = await admin().replace(path, tag("next", made.metadata));
      await until(() => !held.has("VirtualService/tagged"), soon("the object to go"));
      await admin().replace(path, tag("default", moved.metadata));
      await until(() => held.has("VirtualService/tagged"), soon("the object to come back"));
    });
  });

  it("a definition that is replaced takes nothing away; one that stays away does, after a while", {
    timeout: 180_000,
  }, async () => {
    assert.ok(server !== undefined);
    const options = { vanishedKindMs: 8_000 };
    await following(server.kubeconfig, options, async ({ source, held, deleted }) => {
      const name = "virtualservices.networking.istio.io";
      await admin().delete(`${definitions}/${name}`);
      const gone = async () => (await admin().get(`${definitions}/${name}`)) === undefined;
      await until(gone, soon("the definition to go"));
      const problem = () => source.problems().find(({ object }) => object === "VirtualService")?.reason ?? "";
      await until(() => /objects stay in force for 8 s/.test(problem()), soon("the problem to be reported"));
      assert.deepEqual(deleted, []);
      await define((one) => one === name);
      for (const back of ["second", "third"]) await createSoon(`${networking}/virtualservices`, virtualService(back));
      await until(() => deleted.length > 0, soon("what did not come back to go"));
      assert.deepEqual(deleted, ["VirtualService/tagged"]);
      assert.ok(held.has("VirtualService/second") && held.has("VirtualService/third"));

      await admin().delete(`${definitions}/${name}`);
      await until(() => deleted.length === 3, soon("everything to go"));
      assert.equal(problem(), "");
    });
  });
});

/** Tokens of a service account that may read some kinds; each is bound to a Secret, and revoked with it. */
async function reader(): Promise<{ readonly next: () => Promise<string>; readonly revokeFirst: () => Promise<void> }> {
  const [rbac, accounts] = ["/apis/rbac.authorization.k8s.io/v1", "/api/v1/namespaces/default/serviceaccounts"];
  await admin().create(accounts, { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "reader" } });
  const verbs = ["get", "list", "watch"];
  await admin().create(`${rbac}/clusterroles`, {
    ...{ apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name: "reader" } },
    rules: [
      { apiGroups: ["networking.istio.io"], resources: ["virtualservices"], verbs },
      { apiGroups: [""], resources: ["namespaces"], verbs },
    ],
  });
  await admin().create(`${rbac}/clusterrolebindings`, {
    ...{ apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRoleBinding", metadata: { name: "reader" } },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "reader" },
    subjects: [{ kind: "ServiceAccount", name: "reader", namespace: "default" }],
  });
  const secrets = "/api/v1/namespaces/default/secrets";
  let count = 0;
  return {
    next: async () => {
      const metadata = { name: `token-${++count}` };
      const secret = await admin().create(secrets, { apiVersion: "v1", kind: "Secret", metadata });
      const boundObjectRef = { apiVersion: "v1", kind: "Secret", name: metadata.name, uid: secret.metadata.uid };
      const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { boundObjectRef } };
      const { status } = await admin().create<{ readonly status: { readonly token: string } }>(
        `${accounts}/reader/token`,
        request,
      );
      return status.token;
    },
    revokeFirst: async () => void (await admin().delete(`${secrets}/token-1`)),
  };
}

async function withTokenFile(kubeconfig: string, tokenFile: string): Promise<string> {
  const document = JSON.parse(await readFile(kubeconfig, "utf8")) as object;
  const path = join(directory, "kubeconfig");
  await writeFile(path, JSON.stringify({ ...document, users: [{ name: "admin", user: { tokenFile } }] }));
  return path;
}
