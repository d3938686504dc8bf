/** Uses of clusters by ca: pods that vouch for node proxies, and signers that sign in its place. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import type { KubeApi } from "@flotilla/kube-api";
import { KubeError } from "@flotilla/kube-api";
import { createMemoryApi } from "@flotilla/kube-api/memory";
import { aborted, noopLogger, until } from "@flotilla/runtime";
import type { MeshTrust } from "../mesh/mesh-trust.ts";
import type { Settings } from "../settings.ts";
import { type Cluster, delegateOf, followClusters } from "./cluster.ts";

const soon = (what: string) => ({ withinMs: 20_000, what, everyMs: 2 });
const podPath = "/api/v1/namespaces/shop/pods/web";
const pod = { metadata: { uid: "u" }, spec: { nodeName: "n1", serviceAccountName: "web" } };

/** Clusters that are followed with these trusted node accounts; `join` brings another one, or takes it away. */
function following(trustedNodeAccounts: readonly string[]) {
  const own = createMemoryApi({ [podPath]: pod });
  const conditions = new Map<string, string | undefined>();
  const listeners: ((name: string, api: KubeApi | undefined) => void)[] = [];
  const stop = new AbortController();
  let onProblem: (reason: string | undefined) => void = () => undefined;
  let hasEnded = false;
  const cluster = {
    api: own.api,
    onRemote: (listener: (name: string, api: KubeApi | undefined) => void) => void listeners.push(listener),
    followRemotes: async (options: { readonly onProblem: typeof onProblem }, end: AbortSignal) => {
      onProblem = options.onProblem;
      await aborted(end);
      hasEnded = true;
    },
  };
  const clusters = followClusters(
    cluster as unknown as Cluster,
    {
      settings: { trustedNodeAccounts, clusterId: "own" } as unknown as Settings,
      health: { setCondition: (name: string, reason: string | undefined) => void conditions.set(name, reason) },
      log: noopLogger,
    } as unknown as Parameters<typeof followClusters>[1],
    stop.signal,
  );
  const join = (name: string, api: KubeApi | undefined) => {
    for (const listener of listeners) listener(name, api);
  };
  return { own, clusters, conditions, join, problem: (reason?: string) => onProblem(reason), hasEnded: () => hasEnded };
}

describe("pods that vouch for node proxies", () => {
  it("are those of all clusters, until one leaves", async () => {
    const one = following(["mesh/ztunnel"]);
    await using clusters = one.clusters;
    await clusters.known;
    assert.equal(clusters.pods.podOf("own", "shop", "web")?.uid, "u");
    one.join("east", createMemoryApi({ [podPath]: pod }).api);
    await until(() => clusters.pods.podOf("east", "shop", "web"), soon("the other cluster's pod"));
    one.join("east", undefined);
    assert.equal(clusters.pods.podOf("east", "shop", "web"), undefined);
  });

  it("are not read where no node account is trusted", async () => {
    const one = following([]);
    await using clusters = one.clusters;
    await clusters.known;
    one.join("east", createMemoryApi({ [podPath]: pod }).api);
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
    for (const name of ["own", "east"]) assert.equal(clusters.pods.podOf(name, "shop", "web"), undefined);
  });

  it("that cannot be read are named with their cluster, for as long as that lasts", async () => {
    const one = following(["mesh/ztunnel"]);
    await using clusters = one.clusters;
    await clusters.known;
    const east = createMemoryApi();
    let isAway = true;
    east.refusal = () => (isAway ? new KubeError("KUBE_REFUSED", "forbidden") : undefined);
    one.join("east", east.api);
    await until(() => /^east: .*forbidden/.test(one.conditions.get("pods") ?? ""), soon("the condition"));
    isAway = false;
    await until(() => one.conditions.get("pods") === undefined, soon("the end of the condition"));
  });

  it("come with other clusters, whose problems are named", async () => {
    const one = following([]);
    one.problem("Secret/mesh/east: is no text");
    assert.equal(one.conditions.get("remote clusters"), "Secret/mesh/east: is no text");
    assert.equal(one.hasEnded(), false);
    await one.clusters[Symbol.asyncDispose]();
    assert.equal(one.hasEnded(), true);
  });

  it("are none without a cluster", async () => {
    const parts = { settings: {}, health: {}, log: noopLogger } as unknown as Parameters<typeof followClusters>[1];
    await using clusters = followClusters(undefined, parts, new AbortController().signal);
    await clusters.known;
    assert.equal(clusters.pods.podOf("own", "shop", "web"), undefined);
  });
});

describe("signers of the cluster", () => {
  const directory = mkdtempSync(join(tmpdir(), "ca-signer-"));
  after(() => rmSync(directory, { recursive: true }));
  const signerRootFile = join(directory, "ca.crt");
  writeFileSync(signerRootFile, "ROOTS");
  const cluster = {} as Cluster;
  const delegating = { externalCa: "ISTIOD_RA_KUBERNETES_API", kubeSigner: "x/s", signerDomain: "x", signerRootFile };
  const of = (settings: object, one: Cluster | undefined = cluster) => {
    const trust = { rootsOfSigner: (name: string) => (name === "x/mesh" ? "MESH" : undefined) } as MeshTrust;
    return delegateOf({ ...delegating, ...settings } as unknown as Settings, one, trust, noopLogger);
  };
  const cases = [
    { name: "sign for all where that is asked for", settings: {}, expected: ["x/s", "x", "ROOTS"] },
    { name: "sign for those that name one else", settings: { externalCa: "" }, expected: [undefined, "x", undefined] },
    {
      name: "sign for none without a name",
      settings: { kubeSigner: undefined },
      expected: [undefined, "x", undefined],
    },
    {
      name: "may be without roots of their own",
      ...{ settings: { signerRootFile: join(directory, "none") }, expected: ["x/s", "x", undefined] },
    },
  ];
  for (const { name, settings, expected } of cases)
    it(name, async () => {
      const { defaultSigner, signerDomain, rootsOf } = await of(settings);
      assert.deepEqual([defaultSigner, signerDomain, rootsOf("x/s")], expected);
      assert.deepEqual([rootsOf("x/mesh"), rootsOf("x/other")], ["MESH", undefined]);
    });

  it("sign no certificate without a cluster", async () => {
    const { defaultSigner, signerDomain, request } = await delegateOf(
      delegating as unknown as Settings,
      ...[undefined, {} as MeshTrust, noopLogger],
    );
    assert.deepEqual([defaultSigner, signerDomain], [undefined, undefined]);
    assert.throws(() => request({} as Parameters<typeof request>[0]), TypeError);
  });
});
