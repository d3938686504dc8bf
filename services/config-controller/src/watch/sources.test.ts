import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { keepOwnCertificate } from "@flotilla/auth/serving";
import { noopLogger, parseSettings, timeLimit } from "@flotilla/runtime";
import { AggregateStore } from "../aggregate/aggregate-store.ts";
import { type AggregateGroup, mergeSources } from "../aggregate/merge-sources.ts";
import { listIgnored, listProblems } from "../debug/problems.ts";
import { settings } from "../settings.ts";
import { openSources } from "./open-sources.ts";

const virtualService = (host: string) => `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: web, namespace: shop}
spec: {hosts: [${host}], http: [{route: [{destination: {host: web}}]}]}
`;
const others = `apiVersion: v1
kind: Secret
metadata: {name: tls, namespace: shop}
type: kubernetes.io/tls
data: {tls.crt: AA==}
stringData: {tls.key: hi}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: gw, namespace: shop}
spec: {gatewayClassName: istio}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
---
apiVersion: networking.istio.io/v1
kind: VirtualServce
metadata: {name: typo, namespace: shop}
---
apiVersion: networking.istio.io/v1
kind: Sidecar
metadata: {name: wrong, namespace: shop}
spec: {egres: []}
`;

function short(group: AggregateGroup | undefined): readonly string[] {
  return [...(group?.changes ?? [])]
    .map((change) => `${change.op} ${change.key.kind}/${change.key.namespace}/${change.key.name}`)
    .sort();
}

test("a directory and mesh documents become one view, and each change of a file becomes one group", async () => {
  await using cleanup = new AsyncDisposableStack();
  const path = await mkdtemp(join(tmpdir(), "config-"));
  cleanup.defer(() => rm(path, { recursive: true }));
  await writeFile(join(path, "web.yaml"), virtualService("one.example"));
  await writeFile(join(path, "others.yaml"), others);
  const mesh = join(path, "mesh.txt");
  await writeFile(mesh, "trustDomain: one\n");
  const config = parseSettings(settings, { CONFIG_DIR: path, MESH_CONFIG_FILE: mesh });
  const account = { namespace: config.namespace, serviceAccount: "flotilla-config-controller" };
  const certificate = cleanup.use(keepOwnCertificate({ settings: config, ...account, port: 0, log: noopLogger }));
  const sources = await openSources(
    { settings: config, certificate, log: noopLogger, onProblems: () => undefined },
    AbortSignal.timeout(10_000),
  );
  for (const source of sources) cleanup.use(source);
  const store = new AggregateStore(sources.map(({ name }) => name));
  const stop = new AbortController();
  const groups = mergeSources(sources, { store }, timeLimit(10_000, stop.signal).signal);
  cleanup.defer(async () => {
    stop.abort();
    await groups.return();
  });
  const next = async () => (await groups.next()).value as AggregateGroup | undefined;

  const first = await next();
  assert.equal(first?.snapshot, true);
  assert.deepEqual(short(first), [
    "put KubernetesGateway/shop/gw",
    "put MeshConfig//mesh",
    "put MeshNetworks//mesh",
    "put Secret/shop/tls",
    "put VirtualService/shop/web",
  ]);
  assert.deepEqual(store.get({ kind: "Secret", namespace: "shop", name: "tls" })?.spec, {
    type: "kubernetes.io/tls",
    data: { "tls.crt": "AA==", "tls.key": "aGk=" },
  });
  assert.deepEqual(
    listProblems(sources, store).map(({ line, field, reason }) => `${line} ${field} ${reason}`),
    [
      "17 kind networking.istio.io/v1 VirtualServce is no kind that is known here: is VirtualService meant?",
      "21 spec.egres unknown field",
    ],
  );

  const deployments = { source: `file:${path}`, apiVersion: "apps/v1", kind: "Deployment" };
  assert.deepEqual(listIgnored(sources), [{ ...deployments, count: 1 }]);

  await writeFile(join(path, "web.yaml"), virtualService("two.example"));
  assert.deepEqual(short(await next()), ["put VirtualService/shop/web"]);
  await writeFile(
    join(path, "web.yaml"),
    virtualService("two.example").replace("{name", "{labels: {istio.io/rev: canary}, name"),
  );
  assert.deepEqual(short(await next()), ["delete VirtualService/shop/web"]);
  await writeFile(join(path, "web.yaml"), virtualService("two.example"));
  assert.deepEqual(short(await next()), ["put VirtualService/shop/web"]);
  await writeFile(mesh, "trustDomain: two\n");
  assert.deepEqual(short(await next()), ["put MeshConfig//mesh"]);
  await rm(join(path, "web.yaml"));
  assert.deepEqual(short(await next()), ["delete VirtualService/shop/web"]);
});
