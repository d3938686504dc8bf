import assert from "node:assert/strict";
import { test } from "node:test";
import { parseKubeConfig } from "@flotilla/kube-api";
import type { KubeObject } from "@flotilla/model";
import { remoteClusters } from "./remote-secrets.ts";

function secret(name: string, data: Readonly<Record<string, string>>): KubeObject {
  const encoded = Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString("base64")] as const);
  return { apiVersion: "v1", kind: "Secret", metadata: { name, namespace: "n" }, data: Object.fromEntries(encoded) };
}

test("each data key is a cluster; the first Secret that names one holds", () => {
  const { clusters, problems } = remoteClusters(
    [secret("b", { east: "2", west: "3" }), secret("a", { east: "1", own: "x" })],
    "own",
  );
  assert.deepEqual(
    [...clusters.values()].map(({ cluster, kubeconfig }) => `${cluster} ${kubeconfig}`),
    ["east 1", "west 3"],
  );
  assert.deepEqual(
    problems.map(({ object, field, reason }) => `${object} ${field}: ${reason}`),
    [
      "Secret/n/a data[own]: is our own cluster: it needs no Secret",
      "Secret/n/b data[east]: the cluster is named by Secret/n/a already, which holds",
    ],
  );
});

const users = (user: unknown) =>
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
    content: users({ exec: { command: "rm" } }),
    says: /from a program, which is refused, unless .* has exec/,
  },
  {
    name: "a file of ours",
    content: users({ tokenFile: "/etc/passwd" }),
    says: /tokenFile names a file, which is refused/,
  },
];
for (const { name, content, says } of refused) {
  test(`a kubeconfig with ${name} is refused`, () => assert.throws(() => parseKubeConfig(content, "east"), says));
}
test("a kubeconfig with a token is taken", async () => {
  const { server, credentials } = parseKubeConfig(users({ token: "t" }), "east");
  assert.equal(server, "https://c");
  assert.equal((await credentials()).token, "t");
});
