import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { serveSecrets } from "./sds-server.ts";

const directory = mkdtempSync(join(tmpdir(), "flotilla-sds-"));
const socket = join(directory, "a.sock");

describe("secrets for an Envoy", () => {
  after(() => rmSync(directory, { recursive: true, force: true }));

  it("are served where a process that was killed did so before", async () => {
    const dying = `require("node:net").createServer().listen(process.argv[1], () => process.kill(process.pid, "SIGKILL"))`;
    spawnSync(process.execPath, ["-e", dying, socket]);
    assert.ok(existsSync(socket));
    await using _server = await serveSecrets(socket, { chain: "", key: "", roots: "" });
    const client = connect(socket);
    await new Promise((resolve, reject) => client.once("connect", resolve).once("error", reject));
    client.destroy();
  });
});
