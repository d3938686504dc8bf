/** Errors of a port that cannot be opened: its number, why, and the setting that moves it. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type AddressInfo, createServer, Server } from "node:net";
import { describe, it } from "node:test";
import { listen } from "./listen.ts";

/** A server whose port cannot be opened. */
function failing(error: unknown): Server {
  const server = new Server();
  server.listen = () => {
    queueMicrotask(() => server.emit("error", error));
    return server;
  };
  return server;
}
/** The kernel may allow fewer. */
const connections = Math.min(800, Number(readFileSync("/proc/sys/net/core/somaxconn", "utf8")));
const options = { port: 15_010, host: "127.0.0.1", setting: "XDS_PORT" };
const coded = (code: string) => Object.assign(new Error(`listen ${code}`), { code, syscall: "listen" });

describe("a port", () => {
  it("is the one in use, also where any free one is asked for", async () => {
    const server = createServer();
    const port = await listen(server, { ...options, port: 0 });
    assert.equal((server.address() as AddressInfo).port, port);
    assert.equal(server.listenerCount("error"), 0, "errors of connections are not its own");
    await assert.rejects(listen(createServer(), { ...options, port }), { code: "PORT_IN_USE" });
    server.close();
    await once(server, "close");
  });

  it("takes 800 connections at once while the process is busy", async () => {
    const server = createServer();
    const port = await listen(server, { ...options, port: 0 });
    const program = `let open = 0;
      setTimeout(() => process.exit(1), 30_000);
      for (let at = 0; at < ${connections}; at++) require("node:net").connect(${port}, "127.0.0.1", () => {
        if (++open === ${connections}) process.exit(0);
      });`;
    // No connection is accepted meanwhile: without room for all, the program waits to its end.
    assert.equal(spawnSync(process.execPath, ["-e", program]).status, 0);
    server.close();
    await once(server, "close");
  });

  const inUse =
    "[PORT_IN_USE] port 15010 on 127.0.0.1 is in use by another process; free it or set XDS_PORT to another port";
  const refused = (reason: string) =>
    `[PORT_REFUSED] port 15010 on 127.0.0.1 cannot be opened (${reason}); it is set by XDS_PORT`;
  const cases: readonly (readonly [error: unknown, message: string | RegExp])[] = [
    [coded("EADDRINUSE"), inUse],
    [new Error("No address added out of total 1: Address already in use"), inUse],
    [coded("EACCES"), refused("listen EACCES")],
    ["no such host", refused("no such host")],
    [coded("EMFILE"), /^\[PORT_REFUSED\] .*too few file descriptors/],
    [coded("ENFILE"), /^\[PORT_REFUSED\] .*file/],
  ];
  for (const [error, message] of cases)
    it(`that fails with ${error instanceof Error ? error.message : error} is named`, () =>
      assert.rejects(listen(failing(error), options), (found: Error) => {
        if (typeof message === "string") assert.equal(found.message, message);
        else assert.match(found.message, message);
        assert.equal(found.cause, error);
        return true;
      }));
});
