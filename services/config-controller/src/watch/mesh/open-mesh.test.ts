/** The mesh's documents as they are read at the start, and the reports of changes that come too late. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { KubeError } from "@flotilla/kube-api";
import { createMemoryApi } from "@flotilla/kube-api/memory";
import type { JsonObject } from "@flotilla/model";
import { meshConfigOf } from "@flotilla/registry/config";
import { createLogger } from "@flotilla/runtime";
import type { Settings } from "../../settings.ts";
import { checkMeshDocument } from "./mesh-check.ts";
import { bootMesh, openMeshConfig, openMeshNetworks } from "./open-mesh.ts";

const directory = mkdtempSync(join(tmpdir(), "open-mesh-"));
after(() => rmSync(directory, { recursive: true }));
const check = (value: unknown) => checkMeshDocument(meshConfigOf(value as JsonObject));
const running = new AbortController().signal;
const map = (name: string, mesh: string) => ({
  [`/api/v1/namespaces/mesh/configmaps/${name}`]: { data: { mesh, meshNetworks: "networks: {}" } },
});

function options(settings: Partial<Settings>, stored?: Readonly<Record<string, object>>) {
  const memory = createMemoryApi(stored);
  const lines: string[] = [];
  const log = createLogger("config-controller", "info", { write: (line) => void lines.push(JSON.parse(line).config) });
  const given = { revision: "default", namespace: "mesh", ...settings } as Settings;
  const openApi = stored === undefined ? undefined : () => memory.api;
  return { memory, lines, options: { settings: given, openApi, log, onProblems: () => undefined } };
}

function file(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

describe("the MeshConfig at the start", () => {
  it("is that of a file, with defaults; of a file that is wrong or missing the defaults", async () => {
    const boot = async (path: string) => bootMesh(options({ meshConfigFile: path }).options, check, running);
    const spec = await boot(file("good.yaml", "rootNamespace: root\n"));
    assert.deepEqual([spec["rootNamespace"], spec["trustDomain"]], ["root", "cluster.local"]);
    const defaults = meshConfigOf().spec;
    assert.deepEqual(await boot(file("bad.yaml", "trustDomain: [1]\n")), defaults);
    assert.deepEqual(await boot(join(directory, "missing.yaml")), defaults);
  });

  it("is that of the ConfigMap over the one that revisions share", async () => {
    const stored = { ...map("istio", "rootNamespace: own"), ...map("all", "rootNamespace: shared\ntrustDomain: td") };
    const spec = await bootMesh(options({ sharedMeshConfig: "all" }, stored).options, check, running);
    assert.deepEqual([spec["rootNamespace"], spec["trustDomain"]], ["own", "td"]);
  });

  it("waits for an API server that is away, until it is stopped", async () => {
    const { options: given, memory, lines } = options({}, map("istio", "rootNamespace: own"));
    let failures = 2;
    memory.refusal = () => (failures-- > 0 ? new KubeError("KUBE_UNREACHABLE" as never, "away") : undefined);
    assert.equal((await bootMesh(given, check, running))["rootNamespace"], "own");
    assert.deepEqual(lines, ["mesh/istio", "mesh/istio"]);
    const stop = new AbortController();
    memory.refusal = () => {
      stop.abort(new Error("stopped"));
      return new KubeError("KUBE_UNREACHABLE" as never, "away");
    };
    await assert.rejects(bootMesh(given, check, stop.signal), /stopped/);
  });

  it("fails where the failure is none of the API server's", async () => {
    const { options: given, memory } = options({}, {});
    memory.refusal = () => new TypeError("a defect") as never;
    await assert.rejects(bootMesh(given, check, running), /a defect/);
  });
});

describe("sources of the mesh's documents", () => {
  it("remark that other sources are opened at the next start only", async () => {
    const path = file("sources.yaml", "configSources: [{address: 'xds://a:1'}]\n");
    const { options: given } = options({ meshConfigFile: path });
    const booted = await bootMesh(given, check, running);
    const remarks = async (from: JsonObject) => {
      await using source = openMeshConfig(given, check, from, []);
      for await (const _ of source.groups(running)) break;
      return source.problems().map(({ object, field, reason }) => [object, field, reason]);
    };
    assert.deepEqual(await remarks(booted), []);
    assert.deepEqual(await remarks({}), [
      ["MeshConfig//mesh", "configSources", "has changed, which is taken into use when config-controller starts again"],
    ]);
  });

  it("are those of the networks, too", async () => {
    const { options: given } = options({
      meshNetworksFile: file("networks.yaml", "networks: {n1: {endpoints: []}}\n"),
    });
    await using source = openMeshNetworks(given, () => []);
    for await (const { changes } of source.groups(running)) {
      const [change] = changes;
      assert.equal(change?.key.kind, "MeshNetworks");
      break;
    }
  });
});
