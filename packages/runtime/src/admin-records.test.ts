/** Records of admin interfaces in a work directory. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { readAdminAddress, recordAdminAddress } from "./admin-records.ts";

const workDir = mkdtempSync(join(tmpdir(), "flotilla-admin-"));

describe("the record of an admin address", () => {
  after(() => rmSync(workDir, { recursive: true }));

  it("is there until it is disposed of, for its owner alone", async () => {
    const record = { workDir, proxy: "web.shop" };
    assert.equal(await readAdminAddress(record), undefined);
    {
      await using _recorded = await recordAdminAddress(record, "127.0.0.1:15000");
      assert.equal(await readAdminAddress(record), "127.0.0.1:15000");
      assert.equal(statSync(join(workDir, "admin-addresses", "web.shop")).mode & 0o777, 0o600);
    }
    assert.equal(await readAdminAddress(record), undefined);
  });

  it("is of no file outside of its directory", async () => {
    writeFileSync(join(workDir, "secret"), "key");
    for (const proxy of ["../secret", "..", ".", "", "a/../../secret", "web.shop\0"]) {
      assert.equal(await readAdminAddress({ workDir, proxy }), undefined, proxy);
      await assert.rejects(recordAdminAddress({ workDir, proxy }, "127.0.0.1:1"), /no name of a proxy/);
    }
  });
});
