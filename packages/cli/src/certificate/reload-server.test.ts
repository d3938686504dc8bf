import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { createLogger, type Logger, until } from "@flotilla/runtime";
import { reloadServer } from "./reload-server.ts";

const directory = mkdtempSync(join(tmpdir(), "flotilla-reload-"));
const pidFile = join(directory, "server.pid");
after(() => rmSync(directory, { recursive: true }));

/** A log whose lines can be read. */
function listening(): { readonly log: Logger; readonly text: () => string } {
  const lines: string[] = [];
  return { log: createLogger("test", "info", { write: (line) => void lines.push(line) }), text: () => lines.join("") };
}

describe("a server reloads its certificate", () => {
  it("by SIGHUP to the process that its file names", async () => {
    const child = spawn(process.execPath, [
      "-e",
      "process.on('SIGHUP', () => process.exit(7)); console.log(1); setInterval(() => {}, 1e6)",
    ]);
    await once(child.stdout, "data");
    writeFileSync(pidFile, `${child.pid}\n`);
    const exit = once(child, "exit");
    const { log, text } = listening();
    await reloadServer({ pidFile, directory, log }, AbortSignal.timeout(5_000));
    assert.equal((await exit)[0], 7);
    assert.match(text(), /certificate reloaded by the server/);
  });

  it("not when it does not run: it reads its files when it starts", async () => {
    const { log, text } = listening();
    await reloadServer({ pidFile: join(directory, "none"), directory, log }, AbortSignal.timeout(5_000));
    await reloadServer({ redisSocket: join(directory, "none.sock"), directory, log }, AbortSignal.timeout(5_000));
    assert.equal(text().match(/not running/g)?.length, 2);
  });

  for (const [name, content, reason] of [
    ["no number", "nats", /holds no process id: \\"nats\\"/],
    ["everybody", "-1", /holds no process id/],
    ["ourselves, as it does in a namespace of its own", String(process.pid), /must share its process namespace/],
  ] as const)
    it(`not where its file names ${name}`, async () => {
      writeFileSync(pidFile, content);
      const stop = new AbortController();
      const { log, text } = listening();
      const reloading = reloadServer({ pidFile, directory, log }, stop.signal);
      await until(() => reason.test(text()), { withinMs: 30_000, what: "the reason" });
      stop.abort();
      await reloading;
    });

  it("with a password, however the answers of Redis arrive", async () => {
    const [path, redisPasswordFile] = [join(directory, "secured.sock"), join(directory, "password")];
    writeFileSync(redisPasswordFile, "hunter2\n");
    let asked = "";
    const redis = createServer(async (socket) => {
      socket.on("data", (data) => {
        asked += String(data);
      });
      await until(() => asked.includes("ca.crt"), { withinMs: 30_000, what: "both commands" });
      for (const piece of ["+OK\r", "\n+O", "K\r\n"]) {
        socket.write(piece);
        await new Promise(setImmediate);
      }
    }).listen(path);
    await once(redis, "listening");
    const { log, text } = listening();
    await reloadServer({ redisSocket: path, redisPasswordFile, directory, log }, AbortSignal.timeout(30_000));
    redis.close();
    assert.match(asked, /^\*3\r\n\$4\r\nAUTH\r\n\$11\r\ncertificate\r\n\$7\r\nhunter2\r\n\*8\r\n/);
    assert.doesNotMatch(text(), /does not take/);
    assert.match(text(), /certificate reloaded by the server/);
  });

  it("by CONFIG SET over the socket of a Redis, until it takes it", async () => {
    const path = join(directory, "redis.sock");
    const asked: string[] = [];
    const redis = createServer((socket) =>
      socket.once("data", (data) => {
        asked.push(String(data));
        socket.write(asked.length === 1 ? "-ERR Unable to update TLS configuration\r\n" : "+OK\r\n");
      }),
    ).listen(path);
    await once(redis, "listening");
    const { log, text } = listening();
    await reloadServer({ redisSocket: path, directory: "/certificates", log }, AbortSignal.timeout(10_000));
    redis.close();
    assert.match(text(), /does not take its files: -ERR Unable to update/);
    assert.match(text(), /certificate reloaded by the server/);
    const words = asked
      .at(-1)
      ?.split("\r\n")
      .filter((word) => !/^[*$]/.test(word) && word !== "");
    assert.deepEqual(words, [
      ...["CONFIG", "SET", "tls-cert-file", "/certificates/tls.crt", "tls-key-file", "/certificates/tls.key"],
      ...["tls-ca-cert-file", "/certificates/ca.crt"],
    ]);
  });
});
