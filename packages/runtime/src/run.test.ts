import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, it } from "node:test";

/** Runs `body` as the main of a process of its own; when it writes "up" the signal is sent, or the channel to it closed. */
async function runMain(body: string, end?: NodeJS.Signals | "disconnect", env?: Readonly<Record<string, string>>) {
  const code = `
    import { createLogger, runUntilSignal } from ${JSON.stringify(new URL("./index.ts", import.meta.url).href)};
    await runUntilSignal(async (stop) => { ${body} }, {
      log: createLogger("test"), graceMs: 300, ${env === undefined ? "" : `service: { name: "test", env: ${JSON.stringify(env)} }`}
    });`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", code], {
    stdio: ["ignore", "pipe", "inherit", "ipc"],
  });
  let output = "";
  child.stdout?.on("data", (chunk: Buffer) => {
    output += chunk.toString();
    if (end === undefined || !chunk.toString().includes("up")) return;
    if (end === "disconnect") child.disconnect();
    else child.kill(end);
  });
  const messages: unknown[] = [];
  child.on("message", (message) => messages.push(message));
  const [exitCode] = (await once(child, "exit")) as [number | null];
  if (child.connected) await once(child, "disconnect");
  return { exitCode, output, messages };
}

const up = `console.log("up"); const alive = setInterval(() => {}, 1000);`;
const untilStop = `await new Promise((resolve) => stop.addEventListener("abort", resolve));`;

describe("run until signal", { concurrency: true }, () => {
  it("stops main on SIGTERM and ends with 0", async () => {
    const { exitCode, output } = await runMain(`${up} ${untilStop} clearInterval(alive);`, "SIGTERM");
    assert.equal(exitCode, 0);
    assert.match(output, /"msg":"stopped"/);
  });

  it("stops main when the parent is gone", async () => {
    const { exitCode, output } = await runMain(`${up} ${untilStop} clearInterval(alive);`, "disconnect");
    assert.equal(exitCode, 0);
    assert.match(output, /"msg":"stopped"/);
  });

  it("a main that rejects with the reason of the signal was stopped, not broken", async () => {
    const { exitCode } = await runMain(`${up} ${untilStop} clearInterval(alive); throw stop.reason;`, "SIGINT");
    assert.equal(exitCode, 0);
  });

  it("a failure is logged, reported to the parent and becomes exit code 1", async () => {
    const { exitCode, output, messages } = await runMain(`throw new Error("no root");`);
    assert.equal(exitCode, 1);
    assert.match(output, /no root/);
    assert.deepEqual(messages, [{ failed: "no root" }]);
  });

  it("a process whose main has ended exits by itself, whatever is left open", async () => {
    const { exitCode, output } = await runMain(`setInterval(() => {}, 1000);`);
    assert.equal(exitCode, 0);
    assert.match(output, /"open":\[[^\]]*"Timeout"\],"msg":"resources not released, exiting"/);
  });

  it("a variable that is a setting of no service is logged once, with the nearest that is one", async () => {
    const env = { PILOT_HTP10: "true", PILOT_HTTP10: "true" };
    const { exitCode, output } = await runMain("", undefined, env);
    assert.equal(exitCode, 0);
    const lines = output.split("\n").filter((line) => line.includes("has no effect"));
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? "", /"level":"warn".*"name":"PILOT_HTP10","nearest":"PILOT_HTTP10"/);
  });

  it("a second signal ends it at once, with 130", async () => {
    const again = `setTimeout(() => process.kill(process.pid, "SIGTERM"), 20); await new Promise(() => {});`;
    const { exitCode, output } = await runMain(`${up} ${untilStop} ${again}`, "SIGTERM");
    assert.equal(exitCode, 130);
    assert.match(output, /"msg":"second signal, exiting without release"/);
  });

  it("a failure of the host is reported with remedies", async () => {
    const { exitCode, output, messages } = await runMain(
      `const { writeFileSync } = await import("node:fs"); writeFileSync("/dev/full", "x");`,
    );
    assert.equal(exitCode, 1);
    assert.match(output, /"advice":"ENOSPC: [^"]*; the disk is full: make room/);
    assert.match(JSON.stringify(messages), /ENOSPC: .*the disk is full/);
  });

  it("names what was not released within its time, and ends", async () => {
    const { exitCode, output } = await runMain(`${up} await new Promise(() => {});`, "SIGTERM");
    assert.equal(exitCode, 1);
    assert.match(output, /"open":\[.*"Timeout".*"msg":"resources not released, exiting"/);
  });
});
