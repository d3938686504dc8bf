/** MeshConfig and MeshNetworks in ConfigMaps of a real API server. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type RunningApiserver, startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import type { JsonObject } from "@flotilla/model";
import { meshConfigOf, meshNetworksOf } from "@flotilla/registry/config";
import { noopLogger, parseSettings, until } from "@flotilla/runtime";
import { settings } from "../../settings.ts";
import type { ConfigSource } from "../config-source.ts";
import { checkMeshDocument } from "./mesh-check.ts";
import { bootMesh, type MeshOptions, openMeshConfig, openMeshNetworks } from "./open-mesh.ts";

const server: RunningApiserver | undefined = await startKubeApiserver(process.env);
after(() => server?.[Symbol.asyncDispose]());
const path = "/api/v1/namespaces/istio-system/configmaps";
const options = { skip: server === undefined && whyNoApiserver };
const soon = (what: string) => ({ withinMs: 60_000, what });
const checkMesh = (value: unknown) => checkMeshDocument(meshConfigOf(value as JsonObject));
const checkNetworks = (value: unknown) => checkMeshDocument(meshNetworksOf(value as JsonObject));

function placesOf(env: Readonly<Record<string, string>>): MeshOptions {
  assert.ok(server !== undefined);
  const { api } = server;
  return {
    settings: parseSettings(settings, { POD_NAMESPACE: "istio-system", ...env }),
    // One connection for the whole test, which is released with the server.
    openApi: () => ({ ...api, [Symbol.dispose]: () => undefined }),
    log: noopLogger,
    onProblems: () => undefined,
  };
}

async function write(name: string, data: Readonly<Record<string, string>>): Promise<void> {
  const before = await server?.api.get(`${path}/${name}`);
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data };
  if (before === undefined) await server?.api.create(path, object);
  else await server?.api.replace(`${path}/${name}`, { ...object, metadata: before.metadata });
}

/** Follows a source; `versions` are the specs it gave, `now` the last one. */
function follow(source: ConfigSource) {
  const stop = new AbortController();
  const versions: JsonObject[] = [];
  const following = (async () => {
    for await (const { changes } of source.groups(stop.signal))
      for (const change of changes) if (change.op === "put") versions.push(change.value.spec as JsonObject);
  })();
  return {
    versions,
    now: () => versions.at(-1) ?? {},
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await following;
      await source[Symbol.asyncDispose]();
    },
  };
}

describe("mesh documents in ConfigMaps", options, () => {
  before(async () => {
    await server?.api.create("/api/v1/namespaces", { metadata: { name: "istio-system" } });
  });

  it("are merged in istiod's order, followed, and a wrong or deleted one keeps the last good version", async () => {
    await write("shared", { mesh: "trustDomain: shared\ningressClass: shared\n" });
    await write("istio-canary", {
      mesh: "trustDomain: own\ntrustDomainAliases: [old]\n",
      meshNetworks: "networks: {}\n",
    });
    const places = placesOf({ REVISION: "canary", SHARED_MESH_CONFIG: "shared" });
    const booted = await bootMesh(places, checkMesh, AbortSignal.timeout(10_000));
    assert.deepEqual([booted["trustDomain"], booted["ingressClass"]], ["own", "shared"]);
    const mesh = openMeshConfig(places, checkMesh, booted, []);
    await using followed = follow(mesh);
    await until(() => followed.now()["trustDomain"] === "own", soon("the first version"));
    assert.equal(followed.now()["ingressClass"], "shared");
    assert.equal(followed.now()["rootNamespace"], "istio-system");

    await write("istio-canary", { mesh: "trustDomain: new\nrootNamespace: other\n" });
    await until(() => followed.now()["trustDomain"] === "new", soon("a change"));
    assert.equal(followed.now()["rootNamespace"], "other");
    await write("shared", { mesh: "ingressClass: changed\n" });
    await until(() => followed.now()["ingressClass"] === "changed", soon("a change of the shared one"));
    assert.equal(followed.now()["trustDomain"], "new");

    const count = followed.versions.length;
    await write("istio-canary", { mesh: "trustDomain: [wrong]\n" });
    await until(() => mesh.problems().length > 0, soon("the refusal"));
    const [problem] = mesh.problems();
    assert.equal(problem?.file, "ConfigMap/istio-system/istio-canary");
    assert.equal(problem.field, "trustDomain");
    await server?.api.delete(`${path}/istio-canary`);
    await until(() => /is gone/.test(mesh.problems()[0]?.reason ?? ""), soon("the loss"));
    assert.equal(followed.versions.length, count);
    await write("istio-canary", { mesh: "trustDomain: again\n" });
    await until(() => followed.now()["trustDomain"] === "again", soon("the next good version"));
    assert.deepEqual(mesh.problems(), []);
  });

  it("hold networks too, and none of either means the defaults", async () => {
    const places = placesOf({ REVISION: "default" });
    await using mesh = follow(openMeshConfig(places, checkMesh, {}, []));
    const source = openMeshNetworks(places, checkNetworks);
    await using networks = follow(source);
    await until(() => mesh.versions.length > 0 && networks.versions.length > 0, soon("the first versions"));
    assert.deepEqual(mesh.now(), meshConfigOf().spec);
    assert.deepEqual(networks.now(), { networks: {} });
    const document =
      "networks: {east: {endpoints: [{fromCidr: 10.0.0.0/8}], gateways: [{address: 1.2.3.4, port: 15443}]}}\n";
    await write("istio", { meshNetworks: document });
    await until(() => JSON.stringify(networks.now()).includes("15443"), soon("the networks"));
    assert.deepEqual(mesh.versions.length, 1);
    await write("istio", { meshNetworks: "networks: [east]\n" });
    await until(() => source.problems().length > 0, soon("the refusal"));
    assert.ok(JSON.stringify(networks.now()).includes("15443"));
  });
});
