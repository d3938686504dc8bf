/** The bus on a real NATS server, and what a crash of that server does to it. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { noopLogger, until } from "@flotilla/runtime";
import { type RunningServer, startNats } from "@flotilla/servers";
import { busConformance } from "./bus.conformance.ts";
import { type Bus, connectBus } from "./index.ts";

const directory = mkdtempSync(join(tmpdir(), "flotilla-bus-"));
const stop = new AbortController();
let server: RunningServer;

const open = (): Promise<Bus> => connectBus({ url: server.url, clientName: "test", log: noopLogger }, stop.signal);
const text = (value: string) => new TextEncoder().encode(value);

before(async () => {
  server = await startNats({ directory, env: process.env });
});
after(async () => {
  stop.abort();
  await server[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

describe("bus over NATS", () => {
  busConformance(open);

  it("loses nothing when the server is killed in the middle", async () => {
    await using publisher = await open();
    await using follower = await open();
    const seen = new Set<string>();
    const done = new AbortController();
    const following = (async () => {
      for await (const item of follower.follow({ filters: ["flotilla.v1.crash.>"], afterSequence: 0 }, done.signal)) {
        if (item.kind !== "message") continue;
        seen.add(new TextDecoder().decode(item.message.payload));
        if (seen.size === 400) done.abort();
      }
    })();
    const batches = Array.from({ length: 40 }, (_, batch) =>
      publisher.publish(
        Array.from({ length: 10 }, (_, i) => ({
          subject: `flotilla.v1.crash.${batch}-${i}`,
          payload: text(`${batch}-${i}`),
        })),
      ),
    );
    await batches[3];
    await server.kill();
    await until(() => !publisher.state.connected, {
      withinMs: 60_000,
      what: "the bus to report that the server is away",
    });
    server = await startNats({ directory, env: process.env, port: server.port });
    const sequences = (await Promise.all(batches)).flat();
    assert.deepEqual(
      sequences,
      [...sequences].sort((a, b) => a - b),
      "order is kept",
    );
    await until(() => seen.size === 400, { withinMs: 60_000, what: "all messages" });
    await following;
    await until(() => publisher.state.connected, {
      withinMs: 60_000,
      what: "the bus to report that the server is back",
    });
  });

  it("is read at a slow pace where that is asked for, and takes messages meanwhile", async () => {
    await using bus = await open();
    const payload = new Uint8Array(8_192);
    const messages = Array.from({ length: 1_300 }, (_, i) => ({ subject: `flotilla.v1.paced.${i}`, payload }));
    await bus.publish(messages);
    const startMs = performance.now();
    const reading = bus.lastValues("flotilla.v1.paced.>", { isPaced: true });
    await bus.publish([{ subject: "flotilla.v1.beside.a", payload }]);
    const subjects = (await reading).map(({ subject }) => subject);
    assert.deepEqual(
      subjects,
      messages.map(({ subject }) => subject),
    );
    // 8 of the 10.6 MB come at once, as the largest message may have that.
    assert.ok(performance.now() - startMs > 800, `${performance.now() - startMs} ms`);
  });

  it("has read everything when it says so, also to a reader that is busy for seconds meanwhile", async () => {
    await using bus = await open();
    const payload = text("x".repeat(2_000));
    await bus.publish(Array.from({ length: 4_000 }, (_, i) => ({ subject: `flotilla.v1.busy.${i}`, payload })));
    let read = 0;
    const done = new AbortController();
    for await (const item of bus.follow({ filters: ["flotilla.v1.busy.>"], afterSequence: 0 }, done.signal)) {
      if (item.kind === "caught-up") done.abort();
      // The server waits for the reader then, and reports that it is there still.
      else if (++read === 1) for (const end = performance.now() + 1_800; performance.now() < end; );
    }
    assert.equal(read, 4_000);
  });

  it("waits for a server that is not there yet", async () => {
    const { port } = server;
    await server.kill();
    const waiting = open();
    server = await startNats({ directory, env: process.env, port });
    await using bus = await waiting;
    assert.equal((await bus.publish([{ subject: "flotilla.v1.late.x", payload: text("1") }])).length, 1);
  });
});
