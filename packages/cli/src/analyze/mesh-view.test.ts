/** The objects that are looked at: of files with their places, of a cluster, of a control plane, and the settings of the mesh among them. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import type { Analyzer } from "@flotilla/analysis";
import { createMemoryApi } from "@flotilla/kube-api/memory";
import { serveMemoryApi } from "@flotilla/kube-api/memory-server";
import { answerApi } from "../answering-service.fixture.ts";
import { meshView } from "./mesh-view.ts";

const directory = mkdtempSync(join(tmpdir(), "flotilla-mesh-view-"));
after(() => rmSync(directory, { recursive: true }));
let files = 0;

function written(...lines: readonly string[]): string {
  const file = join(directory, `${++files}.yaml`);
  writeFileSync(file, lines.map((line) => `${line}\n`).join(""));
  return file;
}

/** With an analyzer that reads these kinds. */
function view(paths: readonly string[], given: object = {}, reads: readonly string[] = []) {
  const options = { ...{ kube: false, url: [], remoteContexts: [], remoteFiles: [], revision: "default" }, ...given };
  const invocation = { operands: { paths }, options, env: {}, terminal: { warn: () => undefined } };
  return meshView(invocation as never, [{ checks: [], reads } as unknown as Analyzer]);
}

type View = Awaited<ReturnType<typeof view>>;
const named = ({ objects }: View) =>
  objects
    .filter(({ isAssumed }) => isAssumed !== true)
    .map(({ object: { key } }) => `${key.kind} ${key.namespace}/${key.name}`);
const hasAssumed = ({ objects }: View, kind: string) =>
  objects.some(({ isAssumed, object }) => isAssumed === true && object.key.kind === kind);

const service = "{apiVersion: v1, kind: Service, metadata: {name: a}}";
const deployment = [
  "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}, spec: {template:",
  "{metadata: {labels: {app: web}}, spec: {containers: [{name: app, image: app}]}}}}",
].join(" ");
const pod = "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: shop}}";

describe("the objects of files", () => {
  it("are of the namespace that they name, else of that of the command, and of none where they have none", async () => {
    const file = written(
      ...[service, "---", "{apiVersion: v1, kind: Service, metadata: {name: b, namespace: shop}}"],
      ...["---", "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}"],
    );
    assert.deepEqual(named(await view([file])), ["Service default/a", "Service shop/b", "Namespace /shop"]);
    const elsewhere = await view([file], { namespace: "bank" });
    assert.deepEqual(named(elsewhere), ["Service bank/a", "Service shop/b", "Namespace /shop"]);
  });

  it("are none of what has no kind, which is reported at its place; those without a name are left out", async () => {
    const file = written(
      "a text",
      "---",
      "{metadata: {name: a}}",
      "---",
      "{apiVersion: v1, kind: Service}",
      "---",
      "a: [",
    );
    const found = await view([file]);
    assert.deepEqual(named(found), []);
    const places = found.unreadable.map(({ line, severity, message }) => `${line} ${severity} ${message.slice(0, 12)}`);
    const [syntax, ...others] = places;
    assert.deepEqual(others, ["1 error is no object", "3 error is no object"]);
    assert.match(syntax ?? "", /^\d error /);
    assert.ok(found.unreadable.every((one) => one.file === file));
  });

  it("are beside the gateway that every installation has, and pods of workloads where no file has any", async () => {
    const without = await view([written(deployment)]);
    assert.deepEqual([hasAssumed(without, "Service"), hasAssumed(without, "Pod")], [true, true]);
    const withPod = await view([written(deployment, "---", pod)]);
    assert.deepEqual(
      withPod.objects.filter(({ isAssumed, object }) => isAssumed === true && object.key.namespace === "shop"),
      [],
    );
  });
});

describe("the settings of the mesh", () => {
  const map = [
    ...["apiVersion: v1", "kind: ConfigMap", "metadata: {name: istio, namespace: istio-system}", "data:"],
    ...["  mesh: |", "    trustDomain: a.example", "    rootNamespace: istio-system"],
    ...["  meshNetworks: |", "    networks: {}"],
  ];
  const settingsOf = ({ objects }: View) => objects.filter(({ object }) => object.key.kind.startsWith("Mesh"));

  it("stand where the ConfigMap has them, each field at its line", async () => {
    const file = written(...map);
    const [mesh, networks] = settingsOf(await view([file]));
    assert.deepEqual([mesh?.object.key.kind, networks?.object.key.kind], ["MeshConfig", "MeshNetworks"]);
    assert.deepEqual([mesh?.origin?.file, networks?.origin?.file], [file, file]);
    const lineOf = (one: typeof mesh, field: string) => one?.origin?.placeOf(field).line;
    assert.deepEqual(
      [lineOf(mesh, "spec.trustDomain"), lineOf(mesh, "spec.rootNamespace"), lineOf(mesh, "metadata.name")],
      [6, 7, 5],
    );
    assert.deepEqual([lineOf(networks, "spec.networks"), lineOf(networks, "metadata.name")], [9, 8]);
  });

  it("are of no object but a ConfigMap", async () => {
    const file = written(...map.map((line) => line.replace("kind: ConfigMap", "kind: Secret")));
    assert.deepEqual(settingsOf(await view([file])), []);
  });

  it("come from a file as well, which counts last, and which may be empty", async () => {
    const mesh = written("trustDomain: b.example");
    const found = settingsOf(await view([written(...map)], { mesh }));
    assert.deepEqual(
      found.map(({ object }) => [
        object.key.kind,
        (object.spec.value as { readonly trustDomain?: string }).trustDomain,
      ]),
      [
        ["MeshConfig", "a.example"],
        ["MeshNetworks", undefined],
        ["MeshConfig", "b.example"],
      ],
    );
    assert.equal(settingsOf(await view([written(service)], { mesh: written() })).length, 1);
  });
});

describe("the objects of a cluster", () => {
  const core = "/api/v1/namespaces";
  const objectOf = (name: string, namespace: string, more: object = {}) => ({ metadata: { name, namespace, ...more } });
  const east = createMemoryApi({ [`${core}/shop/services/far`]: objectOf("far", "shop") });
  /** A cluster that names another one in a Secret. */
  const ownObjects = (kubeconfig: string) => ({
    [`${core}/shop/services/a`]: objectOf("a", "shop"),
    [`${core}/shop/pods/p`]: objectOf("p", "shop"),
    [`${core}/istio-system/secrets/s`]: {
      ...objectOf("s", "istio-system", { labels: { "istio/multiCluster": "true" } }),
      data: { east: readFileSync(kubeconfig).toString("base64") },
    },
  });
  const cases = [
    { name: "are those that analyzers read", reads: ["Service"], is: ["Service shop/a"] },
    { name: "may be Secrets", reads: ["Secret"], is: ["Secret istio-system/s"] },
    {
      name: "have Secrets and Services of other clusters among them where these are compared",
      reads: ["Service", "RemoteService"],
      is: ["RemoteService shop/far@east", "Secret istio-system/s", "Service shop/a"],
    },
  ];
  for (const { name, reads, is } of cases)
    it(name, async () => {
      await using other = await serveMemoryApi(east);
      await using server = await serveMemoryApi(createMemoryApi(ownObjects(other.kubeconfig)));
      const given = { kube: true, kubeconfig: server.kubeconfig, meshNamespace: "istio-system" };
      const found = await view([], given, reads);
      assert.deepEqual([...named(found)].sort(), is);
      assert.equal(hasAssumed(found, "Service"), false, "a cluster has the gateway that it has");
      const withFile = await view([written(service)], given, reads);
      assert.deepEqual([...named(withFile)].sort(), [...is, "Service default/a"].sort(), "files come over them");
    });
});

describe("the objects of a control plane", () => {
  const items = [
    { object: { apiVersion: "v1", kind: "Pod", metadata: { name: "p", namespace: "shop" } } },
    { object: { apiVersion: "v1", kind: "Pod", metadata: {} } },
  ];

  it("are asked for by kind, and those that it does not show are missing", async () => {
    await using api = await answerApi(({ url }) =>
      url.includes("/ConfigMap?") ? { status: 403, body: { message: "no" } } : { body: { items } },
    );
    const [, server, , tokenFile, , rootFile] = api.apiOptions;
    const found = await view([written(service)], { server, tokenFile, rootFile }, ["Pod", "RemoteService"]);
    assert.deepEqual(named(found), ["Pod shop/p", "Service default/a"]);
    assert.deepEqual(found.missing, ["ConfigMap"]);
    assert.deepEqual(
      api.seen.map(({ url }) => url),
      ["ConfigMap", "Pod"].map((kind) => `/flotilla/v1/in-force/${kind}?namespace=`),
    );
  });

  it("are not there where it fails", async () => {
    await using api = await answerApi(() => ({ status: 500, body: { message: "out of order" } }));
    const [, server, , tokenFile, , rootFile] = api.apiOptions;
    await assert.rejects(view([], { server, tokenFile, rootFile }, ["Pod"]), /out of order/);
  });
});
