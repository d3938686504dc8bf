/** `flotilla analyze --kube` on two real kube-apiservers: Services of one name in both clusters. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { KubeApi } from "@flotilla/kube-api";
import { type RunningApiserver, startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import { parse, stringify } from "yaml";
import { recordRun } from "../recorded-run.fixture.ts";

const own: RunningApiserver | undefined = await startKubeApiserver(process.env);
const west: RunningApiserver | undefined = own && (await startKubeApiserver(process.env));

interface KubeconfigDocument {
  readonly "current-context": string;
  readonly contexts: readonly { readonly context: { readonly cluster: string; readonly user: string } }[];
  readonly clusters: readonly { readonly cluster: object }[];
  readonly users: readonly { readonly user: object }[];
}

describe("flotilla analyze --kube", { skip: west === undefined && whyNoApiserver }, () => {
  let directory = "";
  let both = "";
  const apis = (): readonly [KubeApi, KubeApi] => {
    assert.ok(own !== undefined && west !== undefined);
    return [own.api, west.api];
  };
  const codes = async (...args: readonly string[]) => {
    const { out, err } = await recordRun(["analyze", "--kube", "--analyzer", "cluster-services", ...args]);
    return { lines: out.split("\n").filter((line) => line.includes("IST0170")), out, err };
  };
  const kubeconfigOf = async (server: RunningApiserver | undefined): Promise<KubeconfigDocument> => {
    assert.ok(server !== undefined);
    const read = async (file: string) => parse(await readFile(file, "utf8")) as KubeconfigDocument;
    return read(server.kubeconfig);
  };

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "flotilla-analyze-kube-"));
    both = join(directory, "both.yaml");
    const [first, second] = [await kubeconfigOf(own), await kubeconfigOf(west)];
    const entry = (document: KubeconfigDocument, name: string) => ({
      context: { name, context: { cluster: name, user: name } },
      cluster: { ...document.clusters[0], name },
      user: { ...document.users[0], name },
    });
    const entries = [entry(first, "here"), entry(second, "west")];
    await writeFile(
      both,
      stringify({
        ...{ apiVersion: "v1", kind: "Config", "current-context": "here" },
        contexts: entries.map(({ context }) => context),
        clusters: entries.map(({ cluster }) => cluster),
        users: entries.map(({ user }) => user),
      }),
    );
    for (const [api, clusterIP] of [
      [apis()[0], undefined],
      [apis()[1], "None"],
    ] as const) {
      for (const name of ["shop", "istio-system"])
        await api.create("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name } });
      for (const name of ["reviews", "same"])
        await api.create("/api/v1/namespaces/shop/services", {
          ...{ apiVersion: "v1", kind: "Service", metadata: { name } },
          spec: { ...(name === "reviews" && { clusterIP }), ports: [{ name: "http", port: 80 }] },
        });
    }
  });
  after(async () => {
    await west?.[Symbol.asyncDispose]();
    await own?.[Symbol.asyncDispose]();
    await rm(directory, { recursive: true, force: true });
  });

  it("compares the Services of contexts", async () => {
    assert.deepEqual((await codes("--kubeconfig", both)).lines, []);
    const { lines, out, err } = await codes("--kubeconfig", both, "--remote-contexts", "west");
    assert.deepEqual(
      lines,
      [
        "warning: Service shop/reviews: the Service differs between clusters this one, west: in west it is headless [IST0170]",
      ],
      out + err,
    );
  });

  it("compares those of the Secrets that the control plane reads, and names a cluster that is away", async () => {
    const secret = async (name: string, document: object) =>
      apis()[0].create("/api/v1/namespaces/istio-system/secrets", {
        ...{ apiVersion: "v1", kind: "Secret" },
        metadata: { name, labels: { "istio/multiCluster": "true" } },
        stringData: { [name]: stringify(document) },
      });
    const document = await kubeconfigOf(west);
    await secret("west-by-secret", document);
    await secret("away", {
      ...document,
      clusters: document.clusters.map((one) => ({ ...one, cluster: { server: "https://127.0.0.1:1" } })),
    });
    const { lines, out, err } = await codes("--kubeconfig", both);
    assert.match(lines.join(), /^warning: Service shop\/reviews: .*clusters this one, west-by-secret/, out + err);
    assert.match(err, /Services of cluster away are left out: /);
  });

  it("refuses a context that is not there", async () => {
    const { err } = await codes("--kubeconfig", both, "--remote-contexts", "east");
    assert.match(err, /Services of cluster east are left out: .* has no context east/);
  });
});
