import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { checkContainer } from "./container-check.ts";

describe("health checks of containers", () => {
  const directory = mkdtempSync(join(tmpdir(), "flotilla-check-"));
  const at = (name: string) => join(directory, name);
  after(() => rmSync(directory, { recursive: true }));

  it("page: passes on 200 alone", async () => {
    const server = createServer(({ url }, response) => response.writeHead(url === "/ready" ? 200 : 503).end("x"));
    await once(server.listen(0, "127.0.0.1"), "listening");
    const port = String((server.address() as AddressInfo).port);
    try {
      await checkContainer(["page", port]);
      await assert.rejects(
        checkContainer(["page", port, "/other"]),
        new RegExp(`^Error: /other on port ${port} answers 503`),
      );
    } finally {
      server.close();
    }
    await assert.rejects(checkContainer(["page", port]), /ECONNREFUSED/);
  });

  it("until: passes as long as the time in the file is to come", async () => {
    const now = Math.floor(Date.now() / 1_000);
    writeFileSync(at("later"), `${now + 600}\n`);
    await checkContainer(["until", at("later")]);
    for (const text of ["0\n", `${now - 1}`, "", "soon"]) {
      writeFileSync(at("over"), text);
      await assert.rejects(checkContainer(["until", at("over")]), /the time in .*over is over/, text);
    }
    await assert.rejects(checkContainer(["until", at("none")]), /ENOENT/);
  });

  it("file and socket: pass on what they name", async () => {
    const server = createServer();
    await once(server.listen(at("socket")), "listening");
    try {
      await checkContainer(["socket", at("socket")]);
      await checkContainer(["file", at("later")]);
      await assert.rejects(checkContainer(["socket", at("later")]), /later is no socket/);
      await assert.rejects(checkContainer(["file", at("socket")]), /socket is no file/);
    } finally {
      server.close();
    }
  });

  it("anything else is a mistake", async () => {
    await assert.rejects(checkContainer(["pages", "1"]), /no check "pages"; there are page, until, file, socket/);
    await assert.rejects(checkContainer(["page"]), /usage: check page PORT/);
  });
});
