/** A real Envoy as a child process. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { startEnvoy } from "@flotilla/dataplane";
import { findServer } from "@flotilla/servers";

const directory = mkdtempSync(join(tmpdir(), "flotilla-envoy-"));
const bootstrap = { admin: { address: { socket_address: { address: "127.0.0.1", port_value: 0 } } } };

describe("envoy process", () => {
  after(() => rmSync(directory, { recursive: true, force: true }));

  it("is started again in the directory of an earlier one", { timeout: 180_000 }, async () => {
    const binary = await findServer("envoy", { env: process.env });
    for (let n = 0; n < 2; n++) {
      await using envoy = await startEnvoy({ binary, directory, name: "a", bootstrap });
      await envoy.ready(60_000);
      const stats = await envoy.stats(/^server\.live$/);
      assert.equal(stats.get("server.live"), 1);
    }
  });
});
