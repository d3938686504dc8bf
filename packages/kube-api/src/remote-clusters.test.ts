import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { noopLogger } from "@flotilla/runtime";
import { type KubeConfig, parseKubeConfig } from "./kube-config.ts";
import { createMemoryApi } from "./memory-api.fixture.ts";
import {
  clustersOfFiles,
  followNamedClusters,
  type NamedClusterSettings,
  type RemoteClusters,
  remoteClusters,
  type SecretObject,
} from "./remote-clusters.ts";

function secret(name: string, data: Readonly<Record<string, string>>): SecretObject {
  const encoded = Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString("base64")] as const);
  return { apiVersion: "v1", kind: "Secret", metadata: { name, namespace: "n" }, data: Object.fromEntries(encoded) };
}

test("each data key is a cluster; the first Secret that names one holds", () => {
  const { clusters, problems } = remoteClusters(
    [
      secret("b", { east: withUser({ token: "2" }), west: withUser({ token: "3" }) }),
      secret("a", { east: withUser({ token: "1" }), north: "[]", own: "x" }),
    ],
    { ownCluster: "own" },
  );
  assert.deepEqual(
    [...clusters.values()].map(({ cluster, config, kubeconfig }) => [
      cluster,
      config?.server,
      /"token":"(.)"/.exec(kubeconfig)?.[1],
    ]),
    [
      ["east", "https://c", "1"],
      ["north", undefined, undefined],
      ["west", "https://c", "3"],
    ],
  );
  assert.deepEqual(
    problems.map(({ object, field, reason }) => `${object} ${field}: ${reason}`),
    [
      "Secret/n/a data[north]: [KUBE_CONFIG] data[north] is no kubeconfig",
      "Secret/n/a data[own]: is our own cluster: it needs no Secret",
      "Secret/n/b data[east]: the cluster is named by Secret/n/a already, which holds",
    ],
  );
});

const withUser = (user: unknown) =>
  JSON.stringify({
    "current-context": "x",
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
    clusters: [{ name: "c", cluster: { server: "https://c" } }],
    users: [{ name: "u", user }],
  });
const refused = [
  { name: "no YAML", content: "{", says: /east is no YAML/ },
  { name: "no kubeconfig", content: "[]", says: /east is no kubeconfig/ },
  { name: "lists that are none", content: "clusters: 7", says: /clusters is no list/ },
  { name: "no server", content: "{}", says: /no server/ },
  {
    name: "a program",
    content: withUser({ exec: { command: "rm" } }),
    says: /from a program, which is refused, unless .* has exec/,
  },
  {
    name: "a file of ours",
    content: withUser({ tokenFile: "/etc/passwd" }),
    says: /tokenFile names a file, which is refused/,
  },
];
for (const { name, content, says } of refused) {
  test(`a kubeconfig with ${name} is refused`, () => assert.throws(() => parseKubeConfig(content, "east"), says));
}
test("a kubeconfig with a token is taken", async () => {
  const { server, credentials } = parseKubeConfig(withUser({ token: "t" }), "east");
  assert.equal(server, "https://c");
  assert.equal((await credentials()).token, "t");
});

const fileCases = [
  { name: "the current context's", more: { "current-context": "b" }, cluster: "west" },
  { name: "the first context's by name, without a current one", more: {}, cluster: "east" },
  { name: "the first cluster by name, without contexts", more: { contexts: [] }, cluster: "east" },
];
for (const { name, more, cluster } of fileCases)
  test(`the name of a file's cluster is ${name}`, () => {
    const document = {
      contexts: [
        { name: "b", context: { cluster: "west", user: "u" } },
        { name: "a", context: { cluster: "east", user: "u" } },
      ],
      clusters: ["west", "east"].map((one) => ({ name: one, cluster: { server: `https://${one}` } })),
      users: [{ name: "u", user: { token: "t" } }],
      ...more,
    };
    const { clusters } = clustersOfFiles(new Map([["/k/one", JSON.stringify(document)]]), { ownCluster: "own" });
    assert.deepEqual(
      [...clusters.values()].map((one) => [one.cluster, one.secret]),
      [[cluster, "File//k/one"]],
    );
  });

test("files that name no cluster, the own one or another's are reported with their path", () => {
  const of = (cluster: string) =>
    JSON.stringify({
      ...{ clusters: [{ name: cluster, cluster: { server: "https://c" } }], users: [{ name: "u", user: {} }] },
      ...{ contexts: [{ name: "x", context: { cluster, user: "u" } }], "current-context": "x" },
    });
  const files = { "/k/1": "{}", "/k/2": of("own"), "/k/3": of("east"), "/k/4": of("east"), "/k/5": "[" };
  const { clusters, problems } = clustersOfFiles(new Map(Object.entries(files)), { ownCluster: "own" });
  assert.deepEqual([...clusters.keys()], ["east"]);
  const texts = problems.map(({ object, reason }) => `${object} ${reason}`).sort();
  assert.match(texts[0] ?? "", /File\/\/k\/1 .*names no cluster/);
  assert.match(texts[1] ?? "", /File\/\/k\/2 is our own cluster/);
  assert.match(texts[2] ?? "", /File\/\/k\/4 the cluster is named by File\/\/k\/3 already/);
  assert.match(texts[3] ?? "", /File\/\/k\/5 .*no YAML/);
});

const settings: NamedClusterSettings = {
  ...{ kubeconfigDirectory: undefined, localClusterSecrets: false, insecureKubeconfigs: [] },
  ...{ externalControlPlane: false, clusterId: "own", namespace: "istio-system" },
  ...{ kubeconfig: undefined, kubeHost: "10.0.0.1", kubePort: "6443" },
};

/** The first version of the clusters that the settings name, and the servers that were asked for them beside the own one. */
async function firstNamed(changed: Partial<NamedClusterSettings>) {
  const labelled = (name: string, user: unknown, labels: object) => ({
    ...secret(name, { [name]: withUser(user) }),
    metadata: { name, namespace: "istio-system", labels },
  });
  const path = "/api/v1/namespaces/istio-system/secrets";
  const own = createMemoryApi({
    [`${path}/east`]: labelled("east", { exec: { command: "x", apiVersion } }, { "istio/multiCluster": "true" }),
    [`${path}/north`]: labelled("north", {}, {}),
    [`${path}/own`]: labelled("own", {}, { "istio/multiCluster": "true" }),
  });
  const around = createMemoryApi({ [`${path}/west`]: labelled("west", {}, { "istio/multiCluster": "true" }) });
  const [opened, stop]: [string[], AbortController] = [[], new AbortController()];
  const open = ({ server }: KubeConfig) => {
    opened.push(server);
    return around.api;
  };
  const options = { settings: { ...settings, ...changed }, log: noopLogger, random: () => 0, open };
  const { value } = await followNamedClusters(own.api, options, stop.signal).next();
  stop.abort();
  const { clusters, problems }: RemoteClusters = value ?? assert.fail("no version");
  return { clusters: [...clusters.keys()], problems: problems.map(({ object }) => object), opened };
}

const apiVersion = "client.authentication.k8s.io/v1";
const [ownSecret, eastSecret] = ["Secret/istio-system/own", "Secret/istio-system/east"];
const places: readonly {
  readonly name: string;
  readonly changed: Partial<NamedClusterSettings>;
  readonly clusters: readonly string[];
  readonly problems: readonly string[];
  readonly opened: readonly string[];
}[] = [
  {
    name: "Secrets of the own cluster",
    changed: {},
    clusters: ["east"],
    problems: [eastSecret, ownSecret],
    opened: [],
  },
  {
    name: "Secrets whose kubeconfigs may run programs",
    ...{ changed: { insecureKubeconfigs: ["exec"] }, clusters: ["east"], problems: [ownSecret], opened: [] },
  },
  {
    name: "Secrets of the own cluster, without an external control plane",
    ...{ changed: { localClusterSecrets: true }, clusters: ["east"], problems: [eastSecret, ownSecret], opened: [] },
  },
  {
    name: "Secrets of the own cluster, with an external control plane",
    ...{ changed: { externalControlPlane: true }, clusters: ["east"], problems: [eastSecret, ownSecret], opened: [] },
  },
  {
    name: "Secrets of the cluster around the process",
    changed: { externalControlPlane: true, localClusterSecrets: true },
    ...{ clusters: ["west"], problems: [], opened: ["https://10.0.0.1:6443"] },
  },
  {
    name: "files of a directory that is not there",
    changed: { kubeconfigDirectory: "/no/such/directory" },
    ...{ clusters: [], problems: ["Directory//no/such/directory"], opened: [] },
  },
];
for (const { name, changed, ...expected } of places)
  test(`other clusters are named by ${name}`, async () => assert.deepEqual(await firstNamed(changed), expected));

test("other clusters are named by files of a directory, and by no Secret then", async () => {
  const directory = await mkdtemp(join(tmpdir(), "clusters-"));
  await writeFile(join(directory, "one"), withUser({ token: "t" }));
  const found = await firstNamed({ kubeconfigDirectory: directory });
  await rm(directory, { recursive: true });
  assert.deepEqual(found, { clusters: ["c"], problems: [], opened: [] });
});
