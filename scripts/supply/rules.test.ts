import assert from "node:assert/strict";
import { test } from "node:test";
import { licenceProblems, lockfileProblems } from "./rules.ts";

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
