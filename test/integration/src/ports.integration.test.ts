/** The list of ports in docs/security/ports.md against the real services: who is answered on each, and how others are refused. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { defaultPorts } from "@flotilla/runtime";
import { type Callers, openCallers } from "./ports/callers.ts";
import { listedPorts } from "./ports/listed-ports.ts";

/** Of this machine, and no loopback: a caller that is not of the own host. */
const address = Object.values(networkInterfaces())
  .flat()
  .find((one) => one?.family === "IPv4" && !one.internal)?.address;
const elsewhere =
  address === undefined && "this machine has no address but loopback: callers of other hosts were NOT tested";

describe("every port", () => {
  const workDir = mkdtempSync(join(tmpdir(), "flotilla-ports-"));
  let callers: Callers;

  before(async () => {
    callers = await openCallers(workDir, address ?? "127.0.0.1");
  });
  after(async () => {
    await callers[Symbol.asyncDispose]();
    rmSync(workDir, { recursive: true, force: true });
  });

  it("is listed with what it asks for, and every one that is listed is tested", () => {
    const page = readFileSync(new URL("../../../docs/security/ports.md", import.meta.url), "utf8");
    const documented = [...page.matchAll(/^\| (\d+)/gm)].map(([, number]) => Number(number));
    const inCode = Object.values(defaultPorts).flatMap((ports) => Object.values(ports) as number[]);
    const order = (a: number, b: number): number => a - b;
    assert.deepEqual([...new Set(documented)].sort(order), [...inCode].sort(order));
    const tested = listedPorts.map(({ port }) => port).concat(defaultPorts.nats.client, defaultPorts.redis.client);
    assert.deepEqual([...new Set(tested)].sort(order), [...inCode].sort(order));
  });

  describe("answers every kind of caller as the list has it", () => {
    for (const { port, asks } of listedPorts)
      for (const { who, from, question, answer } of asks) {
        const skip = from === "elsewhere" && elsewhere;
        it(`${port}: ${who} gets ${answer} for ${question.name}`, { skip }, async () => {
          assert.equal(await question.ask(callers, { port, who, from: from ?? "here" }), answer);
        });
      }
  });
});
