import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { decodeJwt } from "jose";
import { serviceToken } from "./service-token.ts";

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
