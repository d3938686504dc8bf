import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { test } from "node:test";
import type { TLSSocket } from "node:tls";
import { keyPair, startHttpProxy, startHttps, startSocksProxy } from "./https-server.fixture.ts";
import { openKubeApi } from "./kube-api.ts";
import { parseKubeConfig } from "./kube-config.ts";

const base64 = (text: string) => Buffer.from(text).toString("base64");

function kubeconfig(cluster: object, user: object = {}): string {
  return JSON.stringify({
    "current-context": "x",
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }, { name: "of no cluster" }],
    clusters: [{ name: "c", cluster }, { cluster: { server: "https://nameless" } }],
    users: [{ name: "u", user }],
  });
}

interface Seen {
  readonly url: string;
  readonly authorization?: string;
  readonly impersonated?: string;
  readonly clientName?: string;
}

/** Answers with what it was asked. */
function report({ url, headers, socket }: IncomingMessage, response: ServerResponse): void {
  const clientName = (socket as TLSSocket).getPeerCertificate().subject?.CN;
  const { authorization, "impersonate-user": impersonated } = headers;
  response.end(JSON.stringify({ url, authorization, impersonated, clientName }));
}

async function ask(config: ReturnType<typeof parseKubeConfig>): Promise<Seen | undefined> {
  using api = openKubeApi(config);
  return api.get<Seen>("/api/v1/x?y=z");
}

const cases = [
  { name: "a token", user: { token: "t" }, seen: { authorization: "Bearer t" } },
  {
    name: "a name and a password",
    user: { username: "n", password: "p" },
    seen: { authorization: `Basic ${base64("n:p")}` },
  },
  {
    name: "a token before a password",
    user: { token: "t", username: "n", password: "p" },
    seen: { authorization: "Bearer t" },
  },
  {
    name: "the user to act as",
    user: { token: "t", as: "jane" },
    seen: { authorization: "Bearer t", impersonated: "jane" },
  },
  { name: "no user at all", user: {}, seen: {} },
];

test("an API server is shown what the user of the kubeconfig has, behind a path of its own, by a name of its own", async (t) => {
  await using server = await startHttps("api.example", report);
  const cluster = {
    server: `https://127.0.0.1:${server.port}/k8s/clusters/east/`,
    "certificate-authority-data": base64(server.ca),
  };
  for (const { name, user, seen } of cases)
    await t.test(name, async () => {
      const config = parseKubeConfig(kubeconfig({ ...cluster, "tls-server-name": "api.example" }, user), "east");
      assert.deepEqual(await ask(config), { url: "/k8s/clusters/east/api/v1/x?y=z", ...seen });
    });
  await t.test("its own name is not in the certificate", () =>
    assert.rejects(ask(parseKubeConfig(kubeconfig(cluster), "east")), /KUBE_AWAY.*127.0.0.1/),
  );
});

for (const { scheme, start } of [
  { scheme: "http", start: startHttpProxy },
  { scheme: "socks5", start: startSocksProxy },
]) {
  test(`connections go through a proxy (${scheme}), with the certificates of the client`, async () => {
    await using server = await startHttps("api.example", report);
    await using proxy = await start();
    const client = await keyPair("jane");
    const cluster = {
      server: `https://127.0.0.1:${server.port}`,
      "certificate-authority-data": base64(server.ca),
      "tls-server-name": "api.example",
      "proxy-url": `${scheme}://127.0.0.1:${proxy.port}`,
    };
    const user = { "client-certificate-data": base64(client.cert), "client-key-data": base64(client.key) };
    const config = parseKubeConfig(kubeconfig(cluster, user), "east");
    assert.deepEqual(await ask(config), { url: "/api/v1/x?y=z", clientName: "jane" });
    assert.deepEqual(proxy.asked, [`127.0.0.1:${server.port}`]);
    const strange = parseKubeConfig(kubeconfig({ ...cluster, "tls-server-name": "other.example" }, user), "east");
    await assert.rejects(ask(strange), /KUBE_AWAY.*other.example/);
  });
}

const server = "https://c";
const refused = [
  {
    name: "a server that is no URL",
    cluster: { server: "c:6443" },
    says: /east: server c:6443 is no http or https URL/,
  },
  { name: "a proxy that is none", cluster: { server, "proxy-url": "ftp://p" }, says: /proxy-url ftp:\/\/p is no http/ },
  { name: "a token that is no text", user: { token: 7 }, says: /east: token of the user u is no text/ },
  { name: "groups to act with", user: { as: "x", "as-groups": ["g"] }, says: /as-groups is not supported/ },
  {
    name: "a token of a provider that is no text",
    user: { "auth-provider": { name: "oidc", config: { "id-token": 3 } } },
    says: /id-token of auth-provider oidc is no text/,
  },
  {
    name: "arguments of a program that are no list",
    user: { exec: { command: "x", apiVersion: "client.authentication.k8s.io/v1", args: 7 } },
    says: /args of exec is no list/,
  },
  {
    name: "an environment of a program that is none",
    user: { exec: { command: "x", apiVersion: "client.authentication.k8s.io/v1", env: [null] } },
    says: /env of exec is no list of names and values/,
  },
  {
    name: "a CA of its provider in a file of ours",
    user: { "auth-provider": { name: "oidc", config: { "idp-certificate-authority": "/etc/x" } } },
    says: /idp-certificate-authority names a file, which is refused/,
  },
];
for (const { name, cluster = { server }, user = {}, says } of refused)
  test(`a kubeconfig with ${name} is refused`, () =>
    assert.throws(() => parseKubeConfig(kubeconfig(cluster, user), "east", new Set(["exec"])), says));

test("a field that Kubernetes does not have opens no file", async () => {
  const config = parseKubeConfig(kubeconfig({ server }, { "token-file": "/etc/passwd" }), "east");
  assert.deepEqual(await config.credentials(), { isInsecure: false });
});
