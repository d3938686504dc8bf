import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { writeCertificateFiles } from "./certificate-files.ts";

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
