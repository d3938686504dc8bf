/** The own cluster and those of Secrets, over an API server of HTTP. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { type Logger, noopLogger, until } from "@flotilla/runtime";
import { openApiServer, openOwnCluster } from "./open-cluster.ts";

const nowhere = { kubeconfig: undefined, kubeHost: undefined, kubePort: "443" };
const rules = { clusterId: "own", clusterAliases: ["old=own", "e=east"], insecureKubeconfigs: [], maxReviews: 2 };
const remotes = { kubeconfigDirectory: undefined, localClusterSecrets: false, externalControlPlane: false };

function kubeconfigOf(server: string): string {
  const [clusters, users] = [[{ name: "c", cluster: { server } }], [{ name: "u", user: { token: "t" } }]];
  const contexts = [{ name: "x", context: { cluster: "c", user: "u" } }];
  return JSON.stringify({ apiVersion: "v1", kind: "Config", clusters, users, contexts, "current-context": "x" });
}

/** Confirms every token, and holds the Secrets that are given. */
async function startApi(secrets: readonly object[] = []) {
  const paths: string[] = [];
  const server = createServer(({ url = "" }, response) => {
    paths.push(url);
    if (url.includes("tokenreviews")) response.end(JSON.stringify({ status: { authenticated: true } }));
    else if (url.includes("watch=")) response.writeHead(200).flushHeaders();
    else response.end(JSON.stringify({ metadata: { resourceVersion: "1" }, items: secrets }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const directory = await mkdtemp(join(tmpdir(), "cluster-"));
  const kubeconfig = join(directory, "config");
  await writeFile(kubeconfig, kubeconfigOf(url));
  return {
    ...{ url, paths, kubeconfig, directory },
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      await rm(directory, { recursive: true });
    },
  };
}

const settings = { ...nowhere, ...rules, ...remotes, namespace: "istio-system", jwtPolicy: "third-party-jwt" } as const;

describe("the own cluster", () => {
  it("is none where nothing names it", async () => {
    assert.equal(await openApiServer(nowhere), undefined);
    assert.equal(await openOwnCluster(settings), undefined);
  });

  it("reviews the tokens of its own name alone, under the policy and aliases that are set", async () => {
    await using server = await startApi();
    const at = { ...settings, kubeconfig: server.kubeconfig };
    using cluster = await openOwnCluster(at);
    assert.deepEqual(await cluster?.review.reviewerOf("own")?.("t", ["a"]), { authenticated: true });
    assert.equal(cluster?.review.reviewerOf("east"), undefined);
    const { clusterId, aliases, policy } = cluster?.review ?? assert.fail();
    assert.deepEqual(
      [clusterId, [...aliases], policy],
      [
        "own",
        [
          ["old", "own"],
          ["e", "east"],
        ],
        "third-party",
      ],
    );
    using legacy = await openOwnCluster({ ...at, jwtPolicy: "first-party-jwt" });
    assert.equal(legacy?.review.policy, "first-party");
  });

  it("follows the clusters that its Secrets name, and shows what is wrong with one", async () => {
    await using east = await startApi();
    const data = Object.entries({ east: kubeconfigOf(east.url), west: "{" }).map(
      ([cluster, text]) => [cluster, Buffer.from(text).toString("base64")] as const,
    );
    const secret = { metadata: { name: "remotes", namespace: "istio-system" }, data: Object.fromEntries(data) };
    await using server = await startApi([secret]);
    const stop = new AbortController();
    using cluster = (await openOwnCluster({ ...settings, kubeconfig: server.kubeconfig })) ?? assert.fail();
    const known: string[] = [];
    cluster.onRemote((name, api) => void known.push(`${name} ${api?.server}`));
    const [problems, warned]: [(string | undefined)[], unknown[]] = [[], []];
    const log: Logger = { ...noopLogger, warn: (_, fields) => void warned.push(fields?.["object"]) };
    const following = cluster.followRemotes({ log, onProblem: (reason) => void problems.push(reason) }, stop.signal);
    try {
      await until(() => problems.length > 0, { withinMs: 5_000, what: "the Secrets", everyMs: 5 });
      assert.deepEqual(known, [`east ${east.url}`]);
      assert.deepEqual(await cluster.review.reviewerOf("east")?.("t", []), { authenticated: true });
      assert.equal(cluster.review.reviewerOf("west"), undefined);
      assert.match(problems[0] ?? "", /remotes .*west/);
      assert.deepEqual(warned.length, 1);
      assert.ok(server.paths.some((path) => path.includes("/namespaces/istio-system/secrets")));
    } finally {
      stop.abort();
      await following;
    }
  });

  it("reads no Secrets of the cluster it works for where those around it are set, and has the reason where there are none", async () => {
    await using server = await startApi([{ metadata: { name: "remotes", namespace: "istio-system" } }]);
    const { port: kubePort } = new URL(server.url);
    const around = { kubeHost: "127.0.0.1", kubePort, localClusterSecrets: true, externalControlPlane: true };
    using cluster = (await openOwnCluster({ ...settings, kubeconfig: server.kubeconfig, ...around })) ?? assert.fail();
    const stop = new AbortController();
    const failures: unknown[] = [];
    const log: Logger = { ...noopLogger, warn: (_, fields) => void failures.push(fields?.["reason"]) };
    const following = cluster.followRemotes({ log, onProblem: () => undefined }, stop.signal);
    try {
      await until(() => failures.length > 0, { withinMs: 20_000, what: "the first attempt", everyMs: 5 });
      assert.match(String(failures[0]), /serviceaccount/);
      assert.deepEqual(server.paths, []);
    } finally {
      stop.abort();
      await following;
    }
  });

  it("follows the clusters of a directory in place of Secrets, and reports one that cannot be read", async () => {
    await using east = await startApi();
    await using server = await startApi();
    const directory = join(server.directory, "clusters");
    await mkdir(directory);
    await writeFile(join(directory, "one"), kubeconfigOf(east.url));
    const stop = new AbortController();
    const at = { ...settings, kubeconfig: server.kubeconfig, kubeconfigDirectory: directory };
    using cluster = (await openOwnCluster(at)) ?? assert.fail();
    const known: string[] = [];
    cluster.onRemote((name, api) => void known.push(`${name} ${api?.server}`));
    const problems: (string | undefined)[] = [];
    const onProblem = (reason: string | undefined) => void problems.push(reason);
    const following = cluster.followRemotes({ log: noopLogger, onProblem }, stop.signal);
    try {
      await until(() => problems.length > 0, { withinMs: 5_000, what: "the files", everyMs: 5 });
      assert.deepEqual([known, problems], [[`c ${east.url}`], [undefined]]);
      assert.ok(!server.paths.some((path) => path.includes("/secrets")));
      await rm(directory, { recursive: true });
      await until(() => problems.length > 1, { withinMs: 20_000, what: "the missing directory", everyMs: 5 });
      assert.match(problems[1] ?? "", /Directory\/.*ENOENT/);
      assert.notEqual(cluster.review.reviewerOf("c"), undefined);
    } finally {
      stop.abort();
      await following;
    }
  });
});
