import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { parseCertificatePem, sanOf } from "@flotilla/pki";
import { type Logger, noopLogger, until } from "@flotilla/runtime";
import { decodeJwt } from "jose";
import { replaceFile } from "../private-file.ts";
import { createAuthority, serverName, startCa } from "./authority.fixture.ts";
import type { ClientCertificateSettings } from "./ca-settings.ts";
import { writeCertificateFiles } from "./material.ts";
import { keepOwnCertificate, serviceToken } from "./own-certificate.ts";

const authority = await createAuthority();
const within = { withinMs: 10_000, everyMs: 5 };
const account = { namespace: "istio-system", serviceAccount: "flotilla-ca", port: 15012 };

async function setUp() {
  const directory = await mkdtemp(join(tmpdir(), "files-"));
  const certificates = join(directory, "certificates");
  const read = (name: string): Promise<string> => readFile(join(certificates, name), "utf8");
  return {
    ...{ directory, certificates, read },
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true }),
  };
}

describe("a certificate in files", () => {
  it("has the names of a Secret, and a key for its owner alone", async () => {
    await using it = await setUp();
    await writeCertificateFiles(it.certificates, { keyPem: "k", chainPem: "c", rootsPem: "r" });
    const names = ["ca.crt", "tls.crt", "tls.key"];
    assert.deepEqual((await readdir(it.certificates)).toSorted(), names);
    assert.deepEqual(await Promise.all(names.map(it.read)), ["r", "c", "k"]);
    const modes = names.map(async (name) => (await stat(join(it.certificates, name))).mode & 0o777);
    assert.deepEqual(await Promise.all(modes), [0o644, 0o644, 0o600]);
    assert.equal((await stat(it.certificates)).mode & 0o777, 0o700);
  });
});

describe("the client certificate of a service", () => {
  const settingsOf = (directory: string, more: Partial<ClientCertificateSettings> = {}): ClientCertificateSettings => ({
    ...{ workDir: directory, caServerName: serverName, caRootFile: undefined, tokenFile: join(directory, "token") },
    ...{ caAddress: undefined, clientCertificateDir: join(directory, "certificates"), ...more },
  });

  it("is not kept where no directory is set, and needs a CA where one is", async () => {
    await using it = await setUp();
    const options = { ...account, log: noopLogger };
    await keepOwnCertificate({ settings: settingsOf(it.directory, { clientCertificateDir: undefined }), ...options })[
      Symbol.asyncDispose
    ]();
    assert.throws(() => keepOwnCertificate({ settings: settingsOf(it.directory), ...options }), {
      code: "AUTH_BAD_PROVIDER",
      message: /CLIENT_CERTIFICATE_DIR needs CA_ADDRESS/,
    });
    assert.deepEqual(await readdir(it.directory), []);
  });

  it("is obtained by the service's token for its name, written, and written again when it is renewed", async () => {
    await using it = await setUp();
    await using ca = await startCa(authority, ({ request }) => [authority.sign(request.csr), authority.rootPem]);
    await writeFile(join(it.directory, "root-cert.pem"), authority.rootPem);
    await writeFile(join(it.directory, "token"), "t\n");
    const settings = settingsOf(it.directory, { caAddress: ca.address });
    await using _ = keepOwnCertificate({ settings, ...account, log: noopLogger });
    const first = await until(() => it.read("ca.crt").then(() => it.read("tls.crt")), { ...within, what: "the files" });
    const [{ request, caller } = assert.fail()] = ca.calls;
    assert.deepEqual(caller.metadata.get("authorization"), ["Bearer t"]);
    assert.equal(request.metadata?.["Instance"], `${hostname()}:15012`);
    await writeFile(join(it.directory, "root-cert.pem"), authority.rootPem.repeat(2));
    await until(async () => (await it.read("tls.crt")) !== first, { ...within, what: "the next certificate" });
  });

  it("that cannot be written is logged", async () => {
    await using it = await setUp();
    await using ca = await startCa(authority, ({ request }) => [authority.sign(request.csr), authority.rootPem]);
    await writeFile(join(it.directory, "root-cert.pem"), authority.rootPem);
    await writeFile(join(it.directory, "token"), "t");
    await writeFile(it.certificates, "a file in its place");
    const errors: string[] = [];
    const log: Logger = { ...noopLogger, error: (event) => void errors.push(event) };
    await using _ = keepOwnCertificate({
      settings: settingsOf(it.directory, { caAddress: ca.address }),
      ...account,
      log,
    });
    await until(() => errors.length > 0, { ...within, what: "the error" });
    assert.deepEqual(errors, ["client certificate not written"]);
  });

  it("that cannot be requested is logged", async () => {
    await using it = await setUp();
    await writeFile(join(it.directory, "root-cert.pem"), authority.rootPem);
    const errors: string[] = [];
    const log: Logger = { ...noopLogger, error: (event) => void errors.push(event) };
    const settings = settingsOf(it.directory, { caAddress: "127.0.0.1:1" });
    await writeFile(join(it.directory, "token"), "t");
    await using _ = keepOwnCertificate({ settings, ...account, serviceAccount: "\u00e4", log });
    await until(() => errors.length > 0, { ...within, what: "the error" });
    assert.deepEqual(errors, ["client certificate not saved"]);
  });

  it("that never came is no error when the service ends", async () => {
    await using it = await setUp();
    const errors: string[] = [];
    const log: Logger = { ...noopLogger, error: (event) => void errors.push(event) };
    const settings = settingsOf(it.directory, { caAddress: "127.0.0.1:1" });
    await keepOwnCertificate({ settings, ...account, log })[Symbol.asyncDispose]();
    assert.deepEqual(errors, []);
  });

  it("is one for every use, and one renewal reaches every use", async () => {
    await using it = await setUp();
    await using ca = await startCa(authority, ({ request }) => [authority.sign(request.csr), authority.rootPem]);
    await writeFile(join(it.directory, "root-cert.pem"), authority.rootPem);
    await writeFile(join(it.directory, "token"), "t");
    const settings = settingsOf(it.directory, { caAddress: ca.address });
    await using certificate = keepOwnCertificate({
      ...{ settings, ...account, names: ["istiod.istio-system.svc"], log: noopLogger },
    });
    const stop = new AbortController();
    const taken: [string[], string[]] = [[], []];
    const following = taken.map((chains) => certificate.follow(({ chainPem }) => chains.push(chainPem), stop.signal));
    const inFile = () => it.read("tls.crt");
    await until(() => taken.every(({ length }) => length === 1), { ...within, what: "the first certificate" });
    await until(async () => (await inFile()) === taken[0][0], { ...within, what: "its file" });
    assert.equal(ca.calls.length, 1);
    assert.deepEqual(
      parseCertificatePem(taken[0][0] ?? "").sans.map(({ value }) => value),
      ["flotilla-ca.istio-system.svc", "istiod.istio-system.svc"],
    );
    // In one step: half a file would be a change of its own.
    await replaceFile(join(it.directory, "root-cert.pem"), authority.rootPem.repeat(2), 0o644);
    await until(() => taken.every(({ length }) => length === 2), { ...within, what: "the next certificate" });
    await until(async () => (await inFile()) === taken[0][1], { ...within, what: "its file" });
    assert.deepEqual(taken[0], taken[1]);
    assert.equal(ca.calls.length, 2);
    stop.abort();
    await Promise.all(following);
  });

  it("is replaced when its identity is of another trust domain than the mesh's", async () => {
    await using it = await setUp();
    let trustDomain: string | undefined;
    const identity = () => `spiffe://${trustDomain ?? "cluster.local"}/ns/istio-system/sa/flotilla-ca`;
    const signed = new Map<string, string>();
    await using ca = await startCa(authority, ({ request }) => {
      const chain = authority.sign(request.csr, {}, [sanOf(identity())]);
      signed.set(identity(), chain);
      return [chain, authority.rootPem];
    });
    await writeFile(join(it.directory, "root-cert.pem"), authority.rootPem);
    await writeFile(join(it.directory, "token"), "t");
    const settings = settingsOf(it.directory, { caAddress: ca.address });
    await using _ = keepOwnCertificate({ settings, ...account, trustDomain: () => trustDomain, log: noopLogger });
    await until(async () => (await it.read("tls.crt")) === signed.get(identity()), { ...within, what: "the first" });
    trustDomain = "corp.example";
    await until(async () => (await it.read("tls.crt")) === signed.get(identity()), { ...within, what: "the next" });
    assert.equal(ca.calls.length, 2);
  });
});

it("a service's token is that of its file, else one of the local issuer for its account", async () => {
  const workDir = await mkdtemp(join(tmpdir(), "token-"));
  try {
    const account = { namespace: "istio-system", serviceAccount: "flotilla-webhook" };
    const tokenFile = join(workDir, "token");
    await writeFile(tokenFile, " abc\n");
    assert.equal(await serviceToken({ ...account, workDir, tokenFile }), "abc");
    const { sub } = decodeJwt(await serviceToken({ ...account, workDir, tokenFile: undefined }));
    assert.equal(sub, "system:serviceaccount:istio-system:flotilla-webhook");
  } finally {
    await rm(workDir, { recursive: true });
  }
});
