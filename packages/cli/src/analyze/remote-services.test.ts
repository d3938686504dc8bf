/** Services of other clusters: by contexts of a kubeconfig, by Secrets, by files. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { createMemoryApi } from "@flotilla/kube-api/memory";
import { serveMemoryApi } from "@flotilla/kube-api/memory-server";
import { servicesOfClusters, servicesOfFiles } from "./remote-services.ts";

const directory = mkdtempSync(join(tmpdir(), "flotilla-remote-"));
after(() => rmSync(directory, { recursive: true }));
const service = (name: string) => ({
  metadata: { name, namespace: "shop" },
  spec: { ports: [{ name: "http", port: 80 }] },
});
const withService = (name: string) => createMemoryApi({ [`/api/v1/namespaces/shop/services/${name}`]: service(name) });

interface Options {
  readonly remoteContexts?: readonly string[];
  readonly remoteFiles?: readonly string[];
  readonly kubeconfig?: string;
}

function invocation({ remoteContexts = [], remoteFiles = [], kubeconfig }: Options) {
  const warnings: string[] = [];
  const options = { remoteContexts, remoteFiles, kubeconfig, meshNamespace: "istio-system" };
  const terminal = { warn: (text: string) => void warnings.push(text) };
  return { warnings, given: { options, env: {}, terminal } as unknown as Parameters<typeof servicesOfFiles>[0] };
}

const namesOf = (objects: ReturnType<typeof servicesOfFiles>) =>
  objects.map(({ key }) => `${key.kind} ${key.namespace}/${key.name}`);
const secret = (name: string, data: object, more: { namespace?: string; labels?: object; kind?: string } = {}) => {
  const { namespace = "istio-system", labels = { "istio/multiCluster": "true" }, kind = "Secret" } = more;
  return { kind, metadata: { name, namespace, labels }, data } as never;
};
const encoded = (text: string) => Buffer.from(text).toString("base64");

describe("Services of other clusters", () => {
  it("come from contexts of the kubeconfig, where some are named", async () => {
    await using west = await serveMemoryApi(withService("reviews"));
    const config = JSON.parse(readFileSync(west.kubeconfig, "utf8"));
    config.contexts.push({ name: "away", context: { cluster: "away", user: "admin" } });
    config.clusters.push({ name: "away", cluster: { server: "http://127.0.0.1:1" } });
    const kubeconfig = join(directory, "config");
    writeFileSync(kubeconfig, JSON.stringify(config));
    const { warnings, given } = invocation({ remoteContexts: ["memory", "away"], kubeconfig });
    const own = [secret("east", { east: encoded("x") })];
    const found = await servicesOfClusters(given, own);
    const ofFile = servicesOfFiles(invocation({ remoteFiles: [`memory=${file("reviews")}`] }).given);
    assert.deepEqual([found[0]?.key, found[0]?.spec], [ofFile[0]?.key, ofFile[0]?.spec]);
    assert.equal(found.length, 1);
    assert.equal(warnings.length, 1, "Secrets are not read then");
    assert.match(warnings[0] ?? "", /^flotilla: Services of cluster away are left out: /);
  });

  it("come from the Secrets of the mesh's namespace, whose faults are named", async () => {
    await using west = await serveMemoryApi(withService("reviews"));
    const config = encoded(readFileSync(west.kubeconfig, "utf8"));
    const { warnings, given } = invocation({});
    const found = await servicesOfClusters(given, [
      secret("west", { west: config }),
      secret("bad", { north: encoded("no kubeconfig") }),
      secret("elsewhere", { a: config }, { namespace: "shop" }),
      secret("unlabelled", { b: config }, { labels: {} }),
      secret("map", { c: config }, { kind: "ConfigMap" }),
    ]);
    assert.equal(namesOf(found).length, 1);
    assert.match(namesOf(found)[0] ?? "", /reviews/);
    assert.equal(warnings.length, 1);
    assert.match(warnings[0] ?? "", /^flotilla: Secret\/istio-system\/bad: .*north/);
  });

  it("come from files with the names of their clusters", () => {
    const { given } = invocation({ remoteFiles: [`west=${file("reviews")}`, `east=${file("ratings")}`] });
    assert.deepEqual(
      namesOf(servicesOfFiles(given)).map((name) => /reviews|ratings/.exec(name)?.[0]),
      ["reviews", "ratings"],
    );
    for (const remoteFiles of [["west"], ["=x.yaml"], ["west="]])
      assert.throws(() => servicesOfFiles(invocation({ remoteFiles }).given), {
        code: "CLI_USAGE",
        message: /--remote-files .* is not CLUSTER=PATH/,
      });
  });
});

function file(name: string): string {
  const path = join(directory, `${name}.yaml`);
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "p", namespace: "shop" } };
  writeFileSync(
    path,
    [{ apiVersion: "v1", kind: "Service", ...service(name) }, pod].map((one) => JSON.stringify(one)).join("\n---\n"),
  );
  return path;
}
