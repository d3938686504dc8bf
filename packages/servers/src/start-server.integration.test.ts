import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { until } from "@flotilla/runtime";
import { freePort, startNats, startRedis } from "./index.ts";

const root = mkdtempSync(join(tmpdir(), "flotilla-servers-"));
after(() => rmSync(root, { recursive: true, force: true }));
const { env } = process;

/** The first bytes that a server sends, or those after `question`. */
async function ask(port: number, question: string): Promise<string> {
  const socket = connect({ host: "127.0.0.1", port });
  socket.write(question);
  const [answer] = (await once(socket, "data")) as [Buffer];
  socket.destroy();
  return answer.toString();
}

async function pidOfTheDead(): Promise<number> {
  const child = spawn("/bin/true");
  await once(child, "exit");
  return child.pid ?? 0;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe("real servers", () => {
  it("NATS with JetStream answers, logs to a file, and ends with its owner's scope", async () => {
    let pid: number;
    const directory = join(root, "nats");
    {
      await using server = await startNats({ directory, env });
      ({ pid } = server);
      const info = await ask(server.port, "");
      assert.match(info, /^INFO \{.*"jetstream":true/);
      assert.match(info, /"max_payload":8388608/);
      assert.match(readFileSync(server.logFile, "utf8"), /Server is ready/);
      assert.equal(server.url, `nats://127.0.0.1:${server.port}`);
    }
    assert.ok(!isAlive(pid));
    assert.ok(!existsSync(join(directory, "nats.pid")));
  });

  it("Redis keeps what was written through a crash", async () => {
    const directory = join(root, "redis");
    const first = await startRedis({ directory, env });
    assert.match(await ask(first.port, "SET k v\r\n"), /OK/);
    await first.kill();
    assert.equal(await first.exited, "signal SIGKILL");
    await using second = await startRedis({ directory, env, port: first.port });
    assert.match(await ask(second.port, "GET k\r\n"), /v/);
    await second[Symbol.asyncDispose]();
  });

  it("names a port that is taken", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as { port: number };
    await assert.rejects(startNats({ directory: join(root, "taken"), env, port }), {
      code: "SERVER_FAILED",
      message: new RegExp(`port ${port} is in use`),
    });
    other.close();
  });

  it("reports what a server said that does not start", async () => {
    const failing = { ...env, NATS_SERVER_BIN: "/bin/false" };
    await assert.rejects(startNats({ directory: join(root, "failing"), env: failing, port: await freePort() }), {
      code: "SERVER_FAILED",
      message: /nats ended with code 1/,
    });
  });

  it("a directory has one owner, whose server ends with it even when it is killed", async () => {
    const directory = join(root, "left");
    const code = `
      import { startNats } from ${JSON.stringify(new URL("./index.ts", import.meta.url).href)};
      const server = await startNats({ directory: ${JSON.stringify(directory)}, env: process.env });
      console.log(server.pid);
      setInterval(() => {}, 1000);`;
    const owner = spawn(process.execPath, ["--input-type=module", "-e", code], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [said] = (await once(owner.stdout, "data")) as [Buffer];
    const left = Number(said.toString());
    await assert.rejects(startNats({ directory, env }), {
      code: "SERVER_BUSY",
      message: new RegExp(`process ${owner.pid} runs nats \\(process ${left}\\)`),
    });
    owner.kill("SIGKILL");
    await once(owner, "exit");
    await until(() => !isAlive(left), { withinMs: 60_000, what: "the server to end with its owner" });
    await using _server = await startNats({ directory, env });
  });

  it("a server that was left behind is ended by the next owner of its directory", async () => {
    const directory = join(root, "left behind");
    const first = await startNats({ directory, env });
    writeFileSync(join(directory, "nats.pid"), JSON.stringify({ pid: first.pid, owner: await pidOfTheDead() }));
    await using second = await startNats({ directory, env });
    assert.equal(await first.exited, "signal SIGKILL");
    assert.notEqual(second.pid, first.pid);
  });
});
