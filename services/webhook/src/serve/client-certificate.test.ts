/** Callers that are answered where a client certificate is required. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import {
  certificatePem,
  encodePem,
  generatePrivateKey,
  issueLeaf,
  issueRoot,
  issuerOf,
  privateKeyPem,
  spkiOf,
} from "@flotilla/pki";
import { type Logger, noopLogger, until } from "@flotilla/runtime";
import { followClientRule } from "./client-certificate.ts";
import { type HttpsServer, type KeyPair, plain, serveHttps } from "./https-server.ts";

const times = { notBeforeMs: Date.now() - 60_000, notAfterMs: Date.now() + 3_600_000 };

async function authority(organization: string) {
  const key = await generatePrivateKey("ecdsa-p256");
  const root = issueRoot({ serial: Buffer.of(1), subject: { organization }, ...times }, key);
  return {
    pem: certificatePem(root),
    issue: async (name: string): Promise<KeyPair> => {
      const own = await generatePrivateKey("ecdsa-p256");
      const sans = [{ type: "dns", value: name }] as const;
      const leaf = issueLeaf({ serial: Buffer.of(2), spki: spkiOf(own), sans, ...times }, issuerOf(root, key));
      return { keyPem: privateKeyPem(own), chainPem: encodePem("CERTIFICATE", leaf) };
    },
  };
}

describe("client certificates", () => {
  const directory = mkdtempSync(join(tmpdir(), "webhook-clients-"));
  const caFile = join(directory, "ca.crt");
  const stop = new AbortController();
  const owned = new AsyncDisposableStack();
  const errors: string[] = [];
  let server: HttpsServer;
  let [cluster, other]: Awaited<ReturnType<typeof authority>>[] = [];
  let serving: KeyPair;

  before(async () => {
    [cluster, other] = [await authority("cluster"), await authority("other")];
    serving = await cluster.issue("localhost");
    const names = ["kube-apiserver"];
    const onChange = () => server?.reload(serving);
    const log: Logger = { ...noopLogger, error: (event, fields) => void errors.push(`${event} ${fields?.["caFile"]}`) };
    const clients = followClientRule({ caFile, names, pollMs: 20, log, onChange }, stop.signal);
    owned.defer(() => clients.following);
    owned.defer(() => stop.abort());
    const at = { host: "127.0.0.1", port: 0, setting: "TEST_PORT" };
    const answer = () => plain(200, "answered");
    server = owned.use(await serveHttps({ ...at, keyPair: serving, log: noopLogger, clients: clients.rule, answer }));
  });
  after(async () => {
    await owned.disposeAsync();
    rmSync(directory, { recursive: true });
  });

  function statusOf(pair: KeyPair | undefined, path = "/inject"): Promise<number | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
    const tls = { ca: cluster?.pem, servername: "localhost", ...(pair && { key: pair.keyPem, cert: pair.chainPem }) };
    const to = { host: "127.0.0.1", port: server.port, path, method: "POST", agent: false, ...tls };
    const asked = request(to, (reply) => {
      reply.resume();
      resolve(reply.statusCode);
    });
    asked.once("error", reject).end("{}");
    return promise;
  }

  it("answers no caller while the CAs are not known, and the right caller once they are", async () => {
    const api = await cluster?.issue("kube-apiserver");
    assert.equal(await statusOf(api), 403);
    writeFileSync(caFile, cluster?.pem ?? "");
    await until(async () => (await statusOf(api)) === 200, { withinMs: 10_000, what: "an answer" });
    assert.deepEqual(errors, [`client CA file unreadable, all callers are refused ${caFile}`]);
  });

  it("refuses callers without a certificate, of another CA, of another name; readiness is for everybody", async () => {
    assert.equal(await statusOf(undefined), 403);
    assert.equal(await statusOf(await other?.issue("kube-apiserver")), 403);
    assert.equal(await statusOf(await cluster?.issue("somebody")), 403);
    assert.equal(await statusOf(undefined, "/ready"), 200);
  });
});
