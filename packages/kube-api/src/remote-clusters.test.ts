import assert from "node:assert/strict";
import { test } from "node:test";
import { parseKubeConfig } from "./kube-config.ts";
import { remoteClusters, type SecretObject } from "./remote-clusters.ts";

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
