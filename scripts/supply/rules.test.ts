import assert from "node:assert/strict";
import { test } from "node:test";
import { licenceProblems, lockfileProblems, sbomProblems } from "./rules.ts";

const of = (licence: string) => licenceProblems([{ name: "a", version: "1.0.0", licence }]);

test("one of several licences to choose from must be allowed, and all that hold together", () => {
  for (const licence of ["MIT", "(MIT OR GPL-3.0)", "GPL-3.0 OR Apache-2.0", "MIT AND ISC"])
    assert.deepEqual(of(licence), []);
  for (const licence of ["GPL-3.0", "none stated", "MIT AND GPL-3.0"])
    assert.deepEqual(of(licence), [`a 1.0.0: the licence ${licence} is not among those that are allowed`]);
});

test("packages have hashes, wait two weeks, and run nothing when they are installed", () => {
  const workspace = "minimumReleaseAge: 20160\nignoreScripts: true\n";
  const good = "packages:\n\n  a@1.0.0:\n    resolution: {integrity: sha512-x}\n";
  assert.deepEqual(lockfileProblems(good, workspace), []);
  assert.equal(lockfileProblems(`${good}\n    resolution: {tarball: https://a.test/b.tgz}\n`, workspace).length, 1);
  assert.equal(lockfileProblems("", "").length, 3);
});

test("the SBOM names each package of a release with its address, its licence and the hash of what was downloaded", () => {
  const own = { name: "bus", group: "@flotilla", version: "0.1.0", purl: "pkg:npm/b", licenses: [{}] };
  const externalReferences = [{ type: "vcs" }, { type: "distribution", hashes: [{ alg: "SHA-512", content: "ff" }] }];
  const other = { name: "nats", version: "1.0.0", purl: "pkg:npm/n", licenses: [{}], externalReferences };
  const textOf = (...components: readonly object[]) => JSON.stringify({ bomFormat: "CycloneDX", components });
  assert.deepEqual(sbomProblems(textOf(own, other)), []);
  assert.deepEqual(sbomProblems(textOf({ name: "nats", version: "1.0.0" })), [
    "nats 1.0.0: the SBOM has no address of it",
    "nats 1.0.0: the SBOM has no licence of it",
    "nats 1.0.0: the SBOM has no hash of it",
  ]);
  assert.deepEqual(sbomProblems(textOf()), ["the SBOM names nothing"]);
});
