/** Tokens for accounts that have a directory, each its owner's alone, of an issuer whose key stays where it is. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { recordRun } from "../recorded-run.fixture.ts";

const directory = mkdtempSync(join(tmpdir(), "flotilla-keep-tokens-"));
after(() => rmSync(directory, { recursive: true }));
const [workDir, tokens, jwks] = ["work", "tokens", "jwks.json"].map((name) => join(directory, name)) as [
  string,
  string,
  string,
];

const keep = () =>
  recordRun(["keep-tokens", "--once", "--directory", tokens, "--jwks-file", jwks, "--work-dir", workDir]);

describe("flotilla keep-tokens", () => {
  it("writes one for each account, with the keys that prove them, and another one the next time", async () => {
    for (const account of ["istio-system/flotilla-webhook", "shop/web"])
      mkdirSync(join(tokens, account), { recursive: true });
    writeFileSync(join(tokens, "README"), "not an account");
    assert.equal((await keep()).code, 0);
    const file = join(tokens, "shop/web/token");
    const first = readFileSync(file, "utf8");
    const claims = JSON.parse(Buffer.from(first.split(".")[1] ?? "", "base64url").toString()) as Record<
      string,
      unknown
    >;
    assert.equal(claims["sub"], "system:serviceaccount:shop:web");
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.match(readFileSync(jwks, "utf8"), /"keys":\[\{/);
    assert.doesNotMatch(readFileSync(jwks, "utf8"), /"d":/, "no private key");
    assert.deepEqual(readdirSync(join(tokens, "shop/web")), ["token"]);
    assert.equal((await keep()).code, 0);
    assert.notEqual(readFileSync(file, "utf8"), first);
  });

  it("needs a directory with accounts", async () => {
    const empty = join(directory, "empty");
    mkdirSync(empty);
    const { code, err } = await recordRun(["keep-tokens", "--directory", empty, "--work-dir", workDir]);
    assert.equal(code, 2);
    assert.match(err, /no directory NAMESPACE\/ACCOUNT/);
  });
});
