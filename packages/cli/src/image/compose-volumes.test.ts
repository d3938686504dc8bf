import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { fillVolumes } from "./compose-volumes.ts";

describe("the volumes of docker-compose.yml", () => {
  let directory = "";
  const at = (path: string) => join(directory, path);
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "flotilla-volumes-"));
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  it("get a key, a password and the list of services, for their owner alone", async () => {
    await fillVolumes(directory);
    assert.equal(readFileSync(at("seal/seal.key")).length, 32);
    assert.match(readFileSync(at("redis-passwords/xds-server"), "utf8"), /^[0-9a-f]{64}\n$/);
    const { services } = JSON.parse(readFileSync(at("state/flotilla.json"), "utf8"));
    assert.equal(services.length, 6);
    assert.deepEqual(services[0], { name: "ca", replica: "ca", healthUrl: "http://ca:15026", pid: 1, restarts: 0 });
    for (const file of ["seal/seal.key", "redis-passwords/xds-server", "state/flotilla.json"])
      assert.equal(statSync(at(file)).mode & 0o777, 0o600, file);
  });

  it("keep what they have", async () => {
    await fillVolumes(directory);
    const kept = ["seal/seal.key", "redis-passwords/xds-server"].map((path) => readFileSync(at(path), "hex"));
    await fillVolumes(directory);
    assert.deepEqual(
      ["seal/seal.key", "redis-passwords/xds-server"].map((path) => readFileSync(at(path), "hex")),
      kept,
    );
  });

  it("of earlier versions: secrets leave the one that all containers see", async () => {
    mkdirSync(at("state/issuer"), { recursive: true });
    writeFileSync(at("state/seal.key"), "an old key");
    writeFileSync(at("state/issuer/key.pem"), "pem");
    await fillVolumes(directory);
    assert.equal(readFileSync(at("seal/seal.key"), "utf8"), "an old key");
    assert.equal(readFileSync(at("issuer/key.pem"), "utf8"), "pem");
    for (const path of ["state/seal.key", "state/issuer/key.pem"]) assert.ok(!existsSync(at(path)), path);
  });
});
