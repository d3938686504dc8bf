/** A process with too few file descriptors: what it cannot open is named with the remedy, and connections beyond the limit cost nothing but themselves. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { describe, it } from "node:test";
import { until } from "./wait.ts";

const limit = 64;
const soon = (what: string) => ({ withinMs: 30_000, what, everyMs: 20 });

/** Runs `body` with the exports of the package as `runtime`, in a process of its own with few descriptors. */
function startWithFew(body: string) {
  const runtime = JSON.stringify(new URL("./index.ts", import.meta.url).href);
  const code = `import * as runtime from ${runtime}; ${body}`;
  const command = `ulimit -n ${limit}; exec "${process.execPath}" --input-type=module -e "$CODE"`;
  const child = spawn("bash", ["-c", command], {
    env: { ...process.env, CODE: code },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
  const ended = once(child, "exit").then(([exitCode]) => exitCode as number | null);
  return { child, ended, output: () => output };
}

describe("too few file descriptors", () => {
  it("are named with the remedy where a port cannot be opened", async () => {
    const { ended, output } = startWithFew(`
      import { openSync } from "node:fs";
      const serve = () => runtime.serveHealth({
        service: "test", version: "1", host: "127.0.0.1", port: 0, setting: "HEALTH_PORT",
        log: runtime.noopLogger, metrics: runtime.createMetrics(),
      });
      await runtime.runUntilSignal(async () => {
        for (;;) { try { openSync("/dev/null"); } catch { break; } }
        await serve();
      }, { log: runtime.createLogger("test") });`);
    assert.equal(await ended, 1, output());
    assert.match(output(), /PORT_REFUSED\].*too few file descriptors for this process: raise the limit \(ulimit -n/);
  });

  it("leave connections beyond the limit unserved, and the pages answer when others have left", async () => {
    const { child, ended, output } = startWithFew(`
      const health = await runtime.serveHealth({
        service: "test", version: "1", host: "127.0.0.1", port: 0, setting: "HEALTH_PORT",
        log: runtime.noopLogger, metrics: runtime.createMetrics(),
      });
      console.log("port " + health.port);`);
    const port = await until(() => Number(/port (\d+)/.exec(output())?.[1] ?? 0) || undefined, soon("the port"));
    const sockets: Socket[] = Array.from({ length: 2 * limit }, () => connect({ host: "127.0.0.1", port }));
    let closed = 0;
    for (const socket of sockets) {
      socket.on("error", () => undefined);
      socket.on("close", () => closed++);
    }
    await until(() => closed > 0, soon("a connection beyond the limit to be closed"));
    for (const socket of sockets) socket.destroy();
    const answers = async () =>
      (await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined))?.status === 200;
    await until(answers, soon("the page to answer again"));
    assert.equal(child.exitCode, null, output());
    child.kill("SIGKILL");
    await ended;
  });
});
