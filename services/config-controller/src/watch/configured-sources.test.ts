/** Sources that MeshConfig's configSources name: of all kinds side by side, with the mesh's own document from two places. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { keepOwnCertificate } from "@flotilla/auth/serving";
import type { JsonObject } from "@flotilla/model";
import { meshConfigKey } from "@flotilla/registry/config";
import { noopLogger, parseSettings, timeLimit, until } from "@flotilla/runtime";
import { AggregateStore } from "../aggregate/aggregate-store.ts";
import { mergeSources } from "../aggregate/merge-sources.ts";
import { listProblems } from "../debug/problems.ts";
import { settings } from "../settings.ts";
import { McpServer, type ServedObject } from "./mcp/mcp-server.fixture.ts";
import { readSourceAddresses } from "./mcp/source-address.ts";
import { openSources } from "./open-sources.ts";

const sidecars = "networking.istio.io/v1/Sidecar";

function sidecar(name: string, host: string): ServedObject {
  return { name, message: "istio.networking.v1alpha3.Sidecar", spec: { egress: [{ hosts: [host] }] } };
}

function manifest(name: string, host: string): string {
  const metadata = `metadata: {name: ${name}, namespace: shop}`;
  return `apiVersion: networking.istio.io/v1\nkind: Sidecar\n${metadata}\nspec: {egress: [{hosts: ["${host}"]}]}\n`;
}

test("directories and other control planes are mixed, the first with an object wins, wrong entries are reported", async () => {
  await using cleanup = new AsyncDisposableStack();
  const path = await mkdtemp(join(tmpdir(), "sources-"));
  cleanup.defer(() => rm(path, { recursive: true }));
  await writeFile(join(path, "a.yaml"), `${manifest("both", "file/*")}---\n${manifest("filed", "file/*")}`);
  await using server = await McpServer.start({ delta: "none" });
  server.set(sidecars, [sidecar("shop/both", "mcp/*"), sidecar("shop/reported", "mcp/*")]);
  const mesh = join(path, "mesh.txt");
  const sourcesText = (more: string) => `configSources:
- address: fs://${path}
- address: xds://127.0.0.1:${server.port}?kinds=Sidecar,VirtualService&mesh=true
- address: xds://nowhere
- address: k8s://
${more}`;
  await writeFile(mesh, sourcesText("trustDomain: own\n"));
  const env = { MESH_CONFIG_FILE: mesh, CONFIG_DIR: "/is/not/read" };
  const stop = new AbortController();
  const running = timeLimit(20_000, stop.signal).signal;
  const config = parseSettings(settings, env);
  const account = { namespace: config.namespace, serviceAccount: "flotilla-config-controller" };
  const certificate = cleanup.use(keepOwnCertificate({ settings: config, ...account, port: 0, log: noopLogger }));
  const options = { settings: config, certificate, log: noopLogger, onProblems: () => undefined };
  const sources = await openSources(options, running);
  for (const source of sources) cleanup.use(source);
  const store = new AggregateStore(sources.map(({ name }) => name));
  const following = (async () => {
    for await (const _ of mergeSources(sources, { store }, running));
  })();
  cleanup.defer(async () => {
    stop.abort();
    await following;
  });
  const hosts = () =>
    store.list("Sidecar").map(({ key, spec }) => {
      const { egress } = spec as { readonly egress: readonly { readonly hosts: readonly string[] }[] };
      return `${key.name} ${egress[0]?.hosts.join()}`;
    });
  await until(() => store.get(meshConfigKey) !== undefined, { withinMs: 30_000, what: "the mesh" });
  assert.deepEqual(hosts().sort(), ["both file/*", "filed file/*", "reported mcp/*"]);
  const problems = listProblems(sources, store).map(({ object, field, reason }) => `${object} ${field} ${reason}`);
  assert.ok(problems.includes('MeshConfig//mesh configSources[2].address "xds://nowhere" names no host and port'));
  assert.ok(problems.some((text) => text.startsWith("k8s:// undefined configSources name it, and there is none")));
  assert.ok(problems.some((text) => text.startsWith("Sidecar/shop/both ") && text.includes(`file:${path}`)));

  // The other control plane's MeshConfig ranks below the file's.
  const spec = () => store.get(meshConfigKey)?.spec as JsonObject;
  const reported = { trustDomain: "theirs", ingressClass: "theirs", configSources: [{ address: "xds://theirs:1" }] };
  server.setMesh(reported);
  await until(() => spec()["ingressClass"] === "theirs", { withinMs: 30_000, what: "the MeshConfig of the server" });
  assert.equal(spec()["trustDomain"], "own");
  assert.equal((spec()["configSources"] as readonly unknown[]).length, 4);
  await writeFile(mesh, sourcesText("trustDomain: other\n").replace("k8s://", "fs:///more"));
  await until(() => spec()["trustDomain"] === "other", { withinMs: 30_000, what: "the new trust domain" });
  const remarks = listProblems(sources, store).map(({ field, reason }) => `${field} ${reason}`);
  assert.ok(remarks.some((text) => text.startsWith("configSources has changed, which is taken into use when")));
});

test("a wrong entry names its field and why", () => {
  const cases: readonly (readonly [JsonObject, string | undefined])[] = [
    [{ address: "xds://host:15010" }, undefined],
    [{ address: "xds://host:15010?required=false&maxAge=90s" }, undefined],
    [{}, "address is no address such as"],
    [{ address: "http://host:1" }, "address is neither"],
    [{ address: "xds://host:1?requird=false" }, "address has the unknown parameter requird"],
    [{ address: "xds://host:1?required=maybe" }, "address has a parameter required that is not true or false"],
    [{ address: "xds://host:1?maxAge=long" }, "address has a parameter maxAge that is no duration"],
    [{ address: "xds://host:1?kinds=Deployment" }, "address asks for Deployment"],
    [{ address: "xds://host:1", tlsSettings: { mode: "TLS" } }, "tlsSettings.mode is none of"],
    [{ address: "xds://host:1", tlsSettings: { mode: "MUTUAL" } }, "tlsSettings.clientCertificate is missing"],
    [
      { address: "xds://host:1", tls_settings: { mode: "SIMPLE", credential_name: "x" } },
      "tlsSettings.credentialName is",
    ],
  ];
  for (const [entry, expected] of cases) {
    const { sources, findings } = readSourceAddresses({ configSources: [entry] }, (name) => name === "Sidecar");
    if (expected === undefined) {
      assert.equal(sources.length, 1);
      continue;
    }
    const text = findings.map(({ field, reason }) => `${field} ${reason}`.replace(/"[^"]*" /, "")).join();
    assert.ok(text.startsWith(`configSources[0].${expected}`), text);
  }
  const registry = { address: "xds://host:1", subscribedResources: ["SERVICE_REGISTRY"] };
  const [source] = readSourceAddresses({ configSources: [registry] }, () => true).sources;
  assert.deepEqual(source?.type === "xds" && source.kinds, ["ServiceEntry", "WorkloadEntry", "WorkloadGroup"]);
});
