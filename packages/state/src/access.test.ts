/** Passwords of services for a Redis that is started beside them. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, it } from "node:test";
import { createStoreCredentials } from "./access.ts";

const directory = mkdtempSync(join(tmpdir(), "flotilla-store-access-"));
after(() => rmSync(directory, { recursive: true, force: true }));

it("each service has a password of its own in a file of its own, and Redis its digest", () => {
  const { users, urlFor } = createStoreCredentials(directory);
  const files = readdirSync(directory).toSorted();
  assert.deepEqual(files, users.map((user) => `${user.split(" ")[1]}.password`).toSorted());
  for (const user of users) {
    const [, service = "", , , digest] = user.split(" ");
    const file = join(directory, `${service}.password`);
    const password = readFileSync(file, "utf8");
    assert.equal(digest, `#${createHash("sha256").update(password).digest("hex")}`);
    assert.equal(statSync(file).mode & 0o777, 0o600);
  }
  const url = new URL(urlFor("xds-server", "redis://127.0.0.1:6379"));
  assert.deepEqual([url.username, url.host], ["xds-server", "127.0.0.1:6379"]);
  assert.equal(url.searchParams.get("passwordFile"), join(directory, "xds-server.password"));
  const again = createStoreCredentials(directory);
  assert.equal(again.users.length, users.length);
  assert.ok(again.users.every((user, i) => user !== users[i]));
});
