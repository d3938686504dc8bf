/** Each service has a key pair of its own: the public key for the server, the seed in a file that only its owner reads. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { nkeys } from "nats";
import { busServices, createBusCredentials } from "./access.ts";

const parent = mkdtempSync(join(tmpdir(), "flotilla-credentials-"));
after(() => rmSync(parent, { recursive: true, force: true }));
const directory = join(parent, "new", "bus");
const mode = (path: string): number => statSync(path).mode & 0o777;

describe("credentials of the bus", () => {
  const credentials = createBusCredentials(directory);
  const seedFile = (url: string): string => decodeURIComponent(new URL(url).searchParams.get("nkey") ?? "");

  it("are one key pair for each service", () => {
    assert.deepEqual(
      credentials.users.map(({ service }) => service),
      busServices,
    );
    for (const { service, identity } of credentials.users) {
      const file = seedFile(credentials.urlFor(service, "nats://localhost:4222"));
      assert.deepEqual(identity, { nkey: nkeys.fromSeed(readFileSync(file)).getPublicKey() });
    }
    assert.equal(new Set(credentials.users.map(({ identity }) => JSON.stringify(identity))).size, busServices.length);
  });
  it("are read by their owner alone", () => {
    assert.equal(mode(directory), 0o700);
    for (const service of busServices) assert.equal(mode(join(directory, `${service}.nkey`)), 0o600);
  });
  it("replace those that were there", () => {
    const again = createBusCredentials(directory);
    assert.notDeepEqual(again.users, credentials.users);
  });
});
