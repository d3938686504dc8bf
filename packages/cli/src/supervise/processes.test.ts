/** Facts about processes, looked up for this one and a child. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { describe, it } from "node:test";
import { factsOf, isAlive, listenerOn } from "./processes.ts";

const hasPs = spawnSync("ps", ["-o", "pid="]).status === 0;

describe("facts about a process", () => {
  it("are its number, its parent, its command line and when it started", async () => {
    const facts = await factsOf(process.pid);
    assert.equal(facts?.pid, process.pid);
    assert.equal(facts.parent, process.ppid);
    assert.match(facts.commandLine, /node/);
    assert.deepEqual(await factsOf(process.pid), facts);
    assert.notEqual(facts.startedAt, "");
  });

  it("are read from /proc on Linux, without another program", { skip: process.platform !== "linux" }, async () => {
    const facts = await factsOf(process.pid, "linux");
    assert.match(facts?.startedAt ?? "", /^\d+$/, "ticks since the host started");
  });

  it("are the same by ps, where there is no /proc", { skip: hasPs ? false : "this host has no ps" }, async () => {
    const [own, byPs] = [await factsOf(process.pid), await factsOf(process.pid, "darwin")];
    assert.deepEqual([byPs?.pid, byPs?.parent], [process.pid, process.ppid]);
    assert.equal(byPs?.commandLine, own?.commandLine);
    assert.match(byPs?.startedAt ?? "", /^\w+ \w+ +\d+ [\d:]+ \d{4}$/);
    assert.equal(await factsOf(2 ** 22 + 1, "darwin"), undefined);
  });

  it("are those of a child with spaces and parentheses in its arguments", async () => {
    const child = spawn(process.execPath, ["-e", "process.stdin.resume()", "a) b ("], {
      stdio: ["pipe", "ignore", "ignore"],
    });
    await once(child, "spawn");
    const facts = await factsOf(child.pid ?? 0);
    assert.equal(facts?.parent, process.pid);
    child.stdin.end();
    await once(child, "exit");
  });

  it("are none of a process that has ended", async () => {
    const child = spawn(process.execPath, ["-e", ""], { stdio: "ignore" });
    await once(child, "exit");
    assert.equal(isAlive(child.pid ?? 0), false);
    assert.equal(await factsOf(child.pid ?? 0), undefined);
    assert.equal(isAlive(process.pid), true);
  });
});

it("the process that listens on a port is found, and none on a port that is free", async () => {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  assert.equal(await listenerOn(port), process.pid);
  server.close();
  await once(server, "close");
  assert.notEqual(await listenerOn(port), process.pid);
});
