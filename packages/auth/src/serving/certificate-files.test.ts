import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { type Logger, noopLogger, until } from "@flotilla/runtime";
import { createAuthority, serverName, startCa } from "./authority.fixture.ts";
import type { ClientCertificateSettings } from "./ca-settings.ts";
import { keepClientCertificate, writeCertificateFiles } from "./certificate-files.ts";

const authority = await createAuthority();
const within = { withinMs: 10_000, everyMs: 5 };
const account = { namespace: "istio-system", serviceAccount: "flotilla-ca" };

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
    await keepClientCertificate(settingsOf(it.directory, { clientCertificateDir: undefined }), options)[
      Symbol.asyncDispose
    ]();
    assert.throws(() => keepClientCertificate(settingsOf(it.directory), options), {
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
    await using _ = keepClientCertificate(settings, { ...account, log: noopLogger });
    const first = await until(() => it.read("ca.crt").then(() => it.read("tls.crt")), { ...within, what: "the files" });
    const [{ request, caller } = assert.fail()] = ca.calls;
    assert.deepEqual(caller.metadata.get("authorization"), ["Bearer t"]);
    assert.equal(request.metadata?.["Instance"], `${hostname()}:${it.certificates}`);
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
    await using _ = keepClientCertificate(settingsOf(it.directory, { caAddress: ca.address }), { ...account, log });
    await until(() => errors.length > 0, { ...within, what: "the error" });
    assert.deepEqual(errors, ["client certificate not written"]);
  });

  it("that nobody can ask for is logged", async () => {
    await using it = await setUp();
    await writeFile(join(it.directory, "root-cert.pem"), authority.rootPem);
    const errors: string[] = [];
    const log: Logger = { ...noopLogger, error: (event) => void errors.push(event) };
    const settings = settingsOf(it.directory, { caAddress: "127.0.0.1:1" });
    await writeFile(join(it.directory, "token"), "t");
    await using _ = keepClientCertificate(settings, { ...account, serviceAccount: "\u00e4", log });
    await until(() => errors.length > 0, { ...within, what: "the error" });
    assert.deepEqual(errors, ["client certificate cannot be kept"]);
  });

  it("that never came is no error when the service ends", async () => {
    await using it = await setUp();
    const errors: string[] = [];
    const log: Logger = { ...noopLogger, error: (event) => void errors.push(event) };
    const settings = settingsOf(it.directory, { caAddress: "127.0.0.1:1" });
    await keepClientCertificate(settings, { ...account, log })[Symbol.asyncDispose]();
    assert.deepEqual(errors, []);
  });
});
