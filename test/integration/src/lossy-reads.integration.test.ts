/** Reading what NATS stores over a line that loses one delivery of six and swaps another with the next. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { connectBus } from "@flotilla/bus";
import { noopLogger } from "@flotilla/runtime";
import { startNats } from "@flotilla/servers";
import { startLossyNats } from "./replicas/lossy-nats.ts";

describe("a line to NATS that loses deliveries", () => {
  const directory = mkdtempSync(join(tmpdir(), "flotilla-lossy-"));
  after(() => rmSync(directory, { recursive: true, force: true }));

  it("gives all last values nevertheless: a read goes on behind what was lost", { timeout: 60_000 }, async () => {
    await using server = await startNats({ directory, env: process.env });
    await using lossy = await startLossyNats({ port: server.port });
    const stop = AbortSignal.timeout(50_000);
    const open = (url: string) => connectBus({ url, clientName: "test", log: noopLogger }, stop);
    await using writer = await open(server.url);
    const subjects = Array.from({ length: 40 }, (_, i) => `flotilla.v1.lossy.${i}`);
    await writer.publish(subjects.map((subject) => ({ subject, payload: new TextEncoder().encode(subject) })));
    await using reader = await open(lossy.url);
    const values = await reader.lastValues("flotilla.v1.lossy.>");
    assert.deepEqual(
      values.map(({ subject }) => subject),
      subjects,
    );
    assert.ok(lossy.counts.lost > 3, JSON.stringify(lossy.counts));
  });
});
