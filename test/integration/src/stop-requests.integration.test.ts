/**
 * Every end of a control plane's launcher ends the control plane: signals to npm, its shell, scripts/bootstrap.mjs and
 * `flotilla`, and their sudden death.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isAlive } from "@flotilla/cli/testing";
import { until } from "@flotilla/runtime";
import { launch, nothingLeft, program } from "./local/flotilla.ts";
import { type Chain, type LauncherName, launchChain } from "./local/launchers.ts";

interface Case {
  readonly chain: Chain;
  readonly signal: NodeJS.Signals;
  readonly to: LauncherName;
  /** Of the process that was started first; undefined where that is npm's or the signal's. */
  readonly exitCode?: number;
}

const npm = ["npm", "shell", "bootstrap"] as const;
const cases: readonly Case[] = [
  { chain: npm, signal: "SIGTERM", to: "npm" },
  { chain: npm, signal: "SIGKILL", to: "npm" },
  { chain: npm, signal: "SIGKILL", to: "shell" },
  { chain: npm, signal: "SIGKILL", to: "bootstrap" },
  { chain: ["bootstrap"], signal: "SIGTERM", to: "bootstrap", exitCode: 0 },
  { chain: ["bootstrap"], signal: "SIGINT", to: "bootstrap", exitCode: 0 },
  { chain: ["bootstrap"], signal: "SIGHUP", to: "bootstrap", exitCode: 0 },
  { chain: ["bootstrap"], signal: "SIGKILL", to: "flotilla", exitCode: 137 },
  { chain: ["flotilla"], signal: "SIGHUP", to: "flotilla", exitCode: 0 },
];

describe("a control plane ends", () => {
  for (const { chain, signal, to, exitCode } of cases)
    it(`with ${signal} to ${to} of ${chain.join(", ")}${chain[0] === "flotilla" ? "" : ", flotilla"}`, async () => {
      await using launched = await launchChain(chain);
      const { plane, pids } = launched;
      const target = pids[to];
      assert.ok(target !== undefined, `${to} runs`);
      const started = performance.now();
      process.kill(target, signal);
      const left = () => Object.values(pids).filter((pid) => pid !== undefined && isAlive(pid));
      await until(() => left().length === 0, { withinMs: 60_000, what: "every process to end", everyMs: 20 });
      console.log(`      ended after ${Math.round(performance.now() - started)} ms`);
      const ended = await plane.ended;
      if (exitCode !== undefined) assert.equal(ended, exitCode);
      await assert.rejects(fetch(`http://127.0.0.1:${plane.firstPort + 3}/ready`), "its health port is free");
    });

  it("with its services, NATS and Redis when flotilla is killed", async () => {
    await using plane = await launch({ command: [process.execPath, program, "serve"] });
    await plane.ready();
    const pid = plane.running()?.pid;
    assert.ok(pid !== undefined);
    process.kill(pid, "SIGKILL");
    assert.equal(await plane.ended, "SIGKILL");
    await nothingLeft(plane.workDir);
  });
});
