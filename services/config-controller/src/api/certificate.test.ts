/** Where the certificate of the API comes from: files that are set, else ca. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { keepOwnCertificate } from "@flotilla/auth/serving";
import { createAuthority, serverName, startCa } from "@flotilla/auth/testing";
import { parseCsrPem } from "@flotilla/pki";
import { noopLogger, until } from "@flotilla/runtime";
import type { ApiSettings } from "./api-settings.ts";
import { followCertificate, type KeyPair, serviceAccount } from "./certificate.ts";

const authority = await createAuthority();
const within = { withinMs: 10_000, everyMs: 5 };

async function setUp(settingsOf: (directory: string) => Partial<ApiSettings>) {
  const directory = await mkdtemp(join(tmpdir(), "api-certificate-"));
  await writeFile(join(directory, "root-cert.pem"), authority.rootPem);
  const settings = {
    ...{ workDir: directory, namespace: "mesh", apiPort: 8443, apiCertFile: undefined, apiKeyFile: undefined },
    ...{ caRootFile: undefined, tokenFile: undefined, caServerName: serverName, ...settingsOf(directory) },
  } as ApiSettings;
  const account = { namespace: settings.namespace, serviceAccount };
  const certificate = keepOwnCertificate({
    ...{ settings: { ...settings, clientCertificateDir: undefined }, ...account, port: 8443 },
    ...{ names: ["localhost"], log: noopLogger },
  });
  const stop = new AbortController();
  const [pairs, troubles]: [KeyPair[], (string | undefined)[]] = [[], []];
  const following = followCertificate(
    {
      ...{ settings, certificate, log: noopLogger, onCertificate: (pair) => void pairs.push(pair) },
      onTrouble: (reason) => void troubles.push(reason),
    },
    stop.signal,
  );
  following.catch(() => undefined);
  return {
    ...{ directory, pairs, troubles },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await following.catch((error: unknown) => assert.equal(error, stop.signal.reason));
      await certificate[Symbol.asyncDispose]();
      await rm(directory, { recursive: true });
    },
  };
}

describe("the certificate of the API", () => {
  it("is that of its files where both are set", async () => {
    const { keyPem, chainPem } = await authority.material(["localhost"]);
    const files = await mkdtemp(join(tmpdir(), "api-files-"));
    const [apiCertFile, apiKeyFile] = [join(files, "tls.crt"), join(files, "tls.key")];
    await Promise.all([writeFile(apiCertFile, chainPem), writeFile(apiKeyFile, keyPem)]);
    await using it = await setUp(() => ({ apiCertFile, apiKeyFile }));
    await until(() => it.pairs.length === 1, { ...within, what: "the pair" });
    assert.deepEqual([it.pairs, it.troubles], [[{ chainPem, keyPem }], [undefined]]);
    await rm(files, { recursive: true });
  });

  it("is missing as long as a file is", async () => {
    await using it = await setUp((directory) => ({
      apiCertFile: join(directory, "no.crt"),
      apiKeyFile: join(directory, "root-cert.pem"),
    }));
    await until(() => it.troubles.length === 1, { ...within, what: "the reason" });
    assert.match(it.troubles[0] ?? "", /ENOENT.*no\.crt/);
    assert.deepEqual(it.pairs, []);
  });

  for (const one of ["apiCertFile", "apiKeyFile"] as const)
    it(`is that of ca where ${one} alone is set: for the account and the names of this service`, async () => {
      await using ca = await startCa(authority, ({ request }) => [authority.sign(request.csr), authority.rootPem]);
      await using it = await setUp(() => ({ caAddress: ca.address, [one]: "/a-file" }));
      await until(() => it.pairs.length === 1, { ...within, what: "the certificate" });
      assert.deepEqual(it.troubles, [`waiting for ca at ${ca.address}`, undefined]);
      const [{ request, caller } = assert.fail()] = ca.calls;
      const names = parseCsrPem(request.csr).sans.map(({ value }) => value);
      assert.deepEqual(names, ["flotilla-config-controller.mesh.svc", "localhost"]);
      assert.equal(request.metadata?.["Instance"], `${hostname()}:8443`);
      const [token = ""] = caller.metadata.get("authorization") ?? [];
      const claims = JSON.parse(String(Buffer.from(token.split(".")[1] ?? "", "base64url"))) as {
        readonly sub: string;
      };
      assert.equal(claims.sub, "system:serviceaccount:mesh:flotilla-config-controller");
      await writeFile(join(it.directory, "root-cert.pem"), authority.rootPem.repeat(2));
      await until(() => it.pairs.length === 2, { ...within, what: "the next certificate" });
    });
});
