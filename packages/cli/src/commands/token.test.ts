/** `flotilla token`: the claims of what it prints. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { recordRun } from "../recorded-run.fixture.ts";

const workDir = mkdtempSync(join(tmpdir(), "flotilla-token-"));
after(() => rmSync(workDir, { recursive: true }));
const token = (...args: readonly string[]) => recordRun(["token", "--work-dir", workDir, ...args]);

async function claims(...more: readonly string[]) {
  const { code, out } = await token("--namespace", "shop", "--service-account", "web", ...more);
  assert.deepEqual([code, /\s/.test(out)], [0, false]);
  const { sub, aud, iat, exp, ...rest } = JSON.parse(Buffer.from(out.split(".")[1] ?? "", "base64url").toString());
  return { sub, aud: [aud].flat(), seconds: exp - iat, pod: rest["kubernetes.io"]?.pod };
}

describe("flotilla token", () => {
  it("is of an account, for the control plane unless another audience is named", async () => {
    const usual = await claims();
    assert.deepEqual([usual.sub, usual.pod], ["system:serviceaccount:shop:web", undefined]);
    const other = await claims("--audience", "bookshop");
    assert.deepEqual([other.aud, usual.aud.length, usual.aud.includes("bookshop")], [["bookshop"], 1, false]);
  });

  it("warns where it makes an issuer, which no control plane knows yet", async () => {
    const fresh = mkdtempSync(join(tmpdir(), "flotilla-token-"));
    const ask = () => recordRun(["token", "--work-dir", fresh, "-n", "shop", "--service-account", "web"]);
    assert.match((await ask()).err, /had no issuer of tokens: one was created/);
    assert.equal((await ask()).err, "");
    rmSync(fresh, { recursive: true });
  });

  it("is of one workload, and for the given time", async () => {
    const { pod, seconds } = await claims("--workload", "web-1", "--ttl-seconds", "120");
    assert.deepEqual([pod, seconds], [{ name: "web-1", uid: "web-1" }, 120]);
  });

  for (const args of [
    ["--namespace", "shop"],
    ["--service-account", "web"],
  ] as const)
    it(`needs more than ${args[0]}`, async () => {
      const { code, out, err } = await token(...args);
      assert.deepEqual([code, out], [2, ""]);
      assert.match(err, /token needs --namespace NS and --service-account SA/);
    });
});
