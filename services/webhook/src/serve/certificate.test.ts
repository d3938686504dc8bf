/** Where the webhook's certificate comes from, and the one that is kept for a start without ca. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { keepOwnCertificate } from "@flotilla/auth/serving";
import { createAuthority, type Life, serverName, startCa } from "@flotilla/auth/testing";
import { parseCsrPem } from "@flotilla/pki";
import { type Logger, noopLogger, parseSettings, until } from "@flotilla/runtime";
import { settings } from "../settings.ts";
import { followCertificate, issuedNames, serviceAccount } from "./certificate.ts";
import type { KeyPair } from "./https-server.ts";

const authority = await createAuthority();
const within = { withinMs: 10_000, everyMs: 5 };
const names = ["flotilla-webhook", "istiod"].flatMap((one) => [`${one}.mesh.svc`, `${one}.mesh.svc.test.local`]);

async function setUp() {
  const directory = await mkdtemp(join(tmpdir(), "webhook-certificate-"));
  await writeFile(join(directory, "root.pem"), authority.rootPem);
  const [pairs, troubles, lines]: [KeyPair[], (string | undefined)[], string[]] = [[], [], []];
  const stop = new AbortController();
  const log: Logger = { ...noopLogger, info: (event, fields) => void lines.push(`${event} ${fields?.["reason"]}`) };
  let following: Promise<unknown> = Promise.resolve();
  const owned = new AsyncDisposableStack();
  return {
    ...{ directory, pairs, troubles, lines, kept: join(directory, "webhook", "serving.json") },
    follow: (env: Readonly<Record<string, string>>): void => {
      const common = { WORK_DIR: directory, CA_SERVER_NAME: serverName, CA_ROOT_FILE: join(directory, "root.pem") };
      const config = parseSettings(settings, { ...common, POD_NAMESPACE: "mesh", DOMAIN_SUFFIX: "test.local", ...env });
      const onCertificate = (pair: KeyPair): void => void pairs.push(pair);
      const onTrouble = (reason: string | undefined): void => void troubles.push(reason);
      const account = { namespace: config.namespace, serviceAccount, names: issuedNames(config) };
      const certificate = owned.use(keepOwnCertificate({ settings: config, ...account, port: config.port, log }));
      following = followCertificate({ settings: config, certificate, log, onCertificate, onTrouble }, stop.signal);
      following.catch(() => undefined);
    },
    ended: () => following,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await following.catch(() => undefined);
      await owned.disposeAsync();
      await rm(directory, { recursive: true });
    },
  };
}

describe("the serving certificate from ca", () => {
  it("is for the names of the Services, and is kept for its owner alone", async () => {
    await using ca = await startCa(authority, ({ request }) => [authority.sign(request.csr), authority.rootPem]);
    await using it = await setUp();
    it.follow({ CA_ADDRESS: ca.address, WEBHOOK_PORT: "15117" });
    const kept = await until(() => readFile(it.kept, "utf8"), { ...within, what: "the file" });
    const [{ request } = assert.fail()] = ca.calls;
    const asked = parseCsrPem(request.csr).sans.map(({ value }) => value);
    assert.deepEqual(asked, [...names, "localhost"]);
    assert.equal(request.metadata?.["Instance"], `${hostname()}:15117`);
    assert.deepEqual(it.troubles, [`waiting for ca at ${ca.address}`, undefined]);
    assert.deepEqual([it.pairs.length, JSON.parse(kept)], [1, it.pairs[0]]);
    assert.equal((await stat(it.kept)).mode & 0o777, 0o600);
  });

  it("is for the names that are set", async () => {
    await using ca = await startCa(authority, ({ request }) => [authority.sign(request.csr), authority.rootPem]);
    await using it = await setUp();
    it.follow({ CA_ADDRESS: ca.address, WEBHOOK_SERVING_NAMES: "a.test,b.test" });
    await until(() => readFile(it.kept, "utf8"), { ...within, what: "the file" });
    const [{ request } = assert.fail()] = ca.calls;
    assert.deepEqual(
      parseCsrPem(request.csr).sans.map(({ value }) => value),
      ["flotilla-webhook.mesh.svc", "a.test", "b.test"],
    );
  });

  const over = { notBeforeMs: Date.now() - 3_600_000, notAfterMs: Date.now() - 1_000 };
  const keptOnes: readonly (readonly [string, Life | string, RegExp | undefined])[] = [
    ["is used until ca answers", {}, undefined],
    ["is not used when it is over", over, /saved serving certificate ignored .*expired/],
    ["is not used when it is damaged", "{", /saved serving certificate ignored .*JSON/],
  ];
  for (const [name, kept, reason] of keptOnes)
    it(`that was kept ${name}`, async () => {
      await using it = await setUp();
      const text = typeof kept === "string" ? kept : JSON.stringify(await authority.material(["a.test"], kept));
      await mkdir(join(it.directory, "webhook"));
      await writeFile(it.kept, text);
      it.follow({ CA_ADDRESS: "127.0.0.1:1" });
      await until(() => it.troubles.length === 1, { ...within, what: "the wait for ca" });
      assert.deepEqual(
        it.pairs.map((pair) => JSON.stringify(pair)),
        reason === undefined ? [text] : [],
      );
      if (reason !== undefined) assert.match(it.lines.join("\n"), reason);
      else assert.deepEqual(it.lines, []);
    });

  it("that was never kept is no matter for the log", async () => {
    await using it = await setUp();
    it.follow({ CA_ADDRESS: "127.0.0.1:1" });
    await until(() => it.troubles.length === 1, { ...within, what: "the wait for ca" });
    assert.deepEqual([it.pairs, it.lines], [[], []]);
  });
});

describe("the serving certificate of others", () => {
  it("is that of the files which are set", async () => {
    await using it = await setUp();
    const { keyPem, chainPem } = await authority.material(["a.test"]);
    const [cert, key] = [join(it.directory, "tls.crt"), join(it.directory, "tls.key")];
    await Promise.all([writeFile(cert, chainPem), writeFile(key, keyPem)]);
    it.follow({ TLS_CERT_FILE: cert, TLS_KEY_FILE: key, CA_ADDRESS: "127.0.0.1:1" });
    await until(() => it.pairs.length === 1, { ...within, what: "the pair" });
    assert.deepEqual([it.pairs, it.troubles], [[{ keyPem, chainPem }], [undefined]]);
  });

  it("is asked for from the signer which is set, in the cluster", async () => {
    const asked: string[] = [];
    const api = createServer(({ method, url }, response) => {
      asked.push(`${method} ${url}`);
      response.writeHead(403).end("{}");
    });
    await new Promise<void>((resolve) => api.listen(0, "127.0.0.1", resolve));
    await using it = await setUp();
    const server = `http://127.0.0.1:${(api.address() as AddressInfo).port}`;
    const kubeconfig = join(it.directory, "kubeconfig");
    const [clusters, users] = [[{ name: "c", cluster: { server } }], [{ name: "u", user: { token: "t" } }]];
    const contexts = [{ name: "x", context: { cluster: "c", user: "u" } }];
    await writeFile(kubeconfig, JSON.stringify({ clusters, users, contexts, "current-context": "x" }));
    try {
      it.follow({ PILOT_CERT_PROVIDER: "k8s.io/a.b/c", CLUSTER_KUBECONFIG: kubeconfig });
      await until(() => it.troubles.length === 2, { ...within, what: "the refusal" });
      assert.equal(it.troubles[0], "waiting for the signer of k8s.io/a.b/c");
      assert.match(it.troubles[1] ?? "", /signer a\.b\/c: .*403/);
      assert.deepEqual(asked, ["POST /apis/certificates.k8s.io/v1/certificatesigningrequests"]);
    } finally {
      api.close();
      api.closeAllConnections();
    }
  });

  it("from a signer needs a cluster", async () => {
    await using it = await setUp();
    it.follow({ PILOT_CERT_PROVIDER: "k8s.io/a.b/c" });
    await assert.rejects(it.ended(), { code: "AUTH_BAD_PROVIDER" });
  });
});

describe("the names that ca is asked for", () => {
  const cases = [
    ["nothing else is set", {}, [...names, "localhost"]],
    ["a file alone is set, which is none without its key", { TLS_CERT_FILE: "c" }, [...names, "localhost"]],
    ["a key alone is set", { TLS_KEY_FILE: "k" }, [...names, "localhost"]],
    ["names are set", { WEBHOOK_SERVING_NAMES: "a.test" }, ["a.test"]],
    ["both files are set", { TLS_CERT_FILE: "c", TLS_KEY_FILE: "k" }, []],
    ["a signer is set", { PILOT_CERT_PROVIDER: "k8s.io/a.b/c" }, []],
  ] as const;
  for (const [name, env, expected] of cases)
    it(`are ${expected.length === 0 ? "none" : expected.join(", ")} where ${name}`, () => {
      const config = parseSettings(settings, { POD_NAMESPACE: "mesh", DOMAIN_SUFFIX: "test.local", ...env });
      assert.deepEqual(issuedNames(config), expected);
    });
});
