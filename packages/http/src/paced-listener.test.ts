import assert from "node:assert/strict";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { type DropReason, type HandshakeLimits, paceHandshakes } from "./paced-listener.ts";

const limits: HandshakeLimits = {
  ...{ helloMs: 60_000, maxSilent: 100, maxSilentPerAddress: 100 },
  ...{ startsPerTurn: 2, maxStarting: 100, startingMs: 60_000, maxWaiting: 100 },
};
/** As short as a ClientHello may be. */
const hello = Buffer.from("1603010006010000020303", "hex");
const within = { withinMs: 30_000 };

/** `until` of packages/runtime, which stands above this package. */
async function until(
  holds: () => boolean | Promise<boolean>,
  { withinMs, what }: { readonly withinMs: number; readonly what: string },
): Promise<void> {
  const since = performance.now();
  while (!(await holds())) {
    assert.ok(performance.now() - since < withinMs, `${what} within ${withinMs} ms`);
    await delay(2);
  }
}

async function setUp(more: Partial<HandshakeLimits> = {}) {
  const begun: { readonly socket: Socket; readonly finished: () => void }[] = [];
  const dropped: DropReason[] = [];
  // As TLS servers report it.
  const finish = (socket: Socket) => void server.emit("secureConnection", socket);
  const server = createServer({ pauseOnConnect: true }, (socket) => {
    begun.push({ socket, finished: () => finish(socket) });
  });
  const onDropped = (_: string, reason: DropReason) => void dropped.push(reason);
  const closeWaiting = paceHandshakes(server, { ...limits, ...more, onDropped });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const clients: Socket[] = [];
  /** `localAddress`: any of 127.0.0.0/8. */
  const dial = async (bytes = Buffer.alloc(0), localAddress = "127.0.0.1"): Promise<Socket> => {
    const client = connect({ port, host: "127.0.0.1", localAddress });
    clients.push(client);
    client.on("error", () => undefined);
    await new Promise((resolve) => client.once("connect", resolve));
    if (bytes.length > 0) client.write(bytes);
    return client;
  };
  return {
    ...{ begun, dropped, dial, closeWaiting },
    accepted: promisify<number>((done) => server.getConnections(done)),
    froms: () => begun.map(({ socket }) => socket.remoteAddress),
    [Symbol.asyncDispose]: async () => {
      closeWaiting();
      for (const socket of [...clients, ...begun.map((one) => one.socket)]) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

describe("paced listener", () => {
  it("starts a connection whose hello is there, however many are silent, and the hello is still to be read", async () => {
    await using it = await setUp();
    for (let i = 0; i < 50; i++) await it.dial(i % 2 === 0 ? Buffer.alloc(0) : hello.subarray(0, 8));
    await it.dial(hello);
    await until(() => it.begun.length === 1, { ...within, what: "the honest one" });
    const bytes = it.begun[0]?.socket.read() as Buffer;
    assert.ok(bytes.equals(hello));
    assert.deepEqual(it.dropped, []);
  });

  it("starts a connection whose hello came in parts", async () => {
    await using it = await setUp();
    const client = await it.dial(hello.subarray(0, 3));
    await it.dial(hello);
    await until(() => it.begun.length === 1, { ...within, what: "the one behind it" });
    client.write(hello.subarray(3));
    await until(() => it.begun.length === 2, { ...within, what: "both" });
    const bytes = it.begun[1]?.socket.read() as Buffer;
    assert.ok(bytes.equals(hello));
  });

  it("closes a connection that is silent for too long, and one that speaks another protocol", async () => {
    await using it = await setUp({ helloMs: 20 });
    const silent = await it.dial();
    await until(() => silent.destroyed, { ...within, what: "the end of the silent one" });
    const other = await it.dial(Buffer.from("GET / HTTP/1.1\r\n\r\n"));
    await until(() => other.destroyed, { ...within, what: "the end of the other one" });
    assert.deepEqual(it.dropped, ["silent", "not_tls"]);
  });

  it("closes the oldest silent one of an address for its next, and leaves other addresses alone", async () => {
    await using it = await setUp({ maxSilentPerAddress: 2 });
    const [elsewhere, oldest, next] = [await it.dial(undefined, "127.0.0.2"), await it.dial(), await it.dial()];
    await it.dial();
    await until(() => oldest.destroyed, { ...within, what: "the end of the oldest" });
    assert.deepEqual([it.dropped, elsewhere.destroyed, next.destroyed], [["crowded"], false, false]);
  });

  it("counts those of an address on when one of them has left", async () => {
    await using it = await setUp({ maxSilentPerAddress: 2 });
    const [gone, oldest] = [await it.dial(), await it.dial()];
    gone.end();
    await until(async () => (await it.accepted()) === 1, { ...within, what: "the end of the first" });
    assert.deepEqual(it.dropped, []);
    await it.dial();
    await it.dial();
    await until(() => oldest.destroyed, { ...within, what: "the end of the oldest" });
    assert.deepEqual(it.dropped, ["crowded"]);
  });

  it("closes those that have not started when it ends", async () => {
    await using it = await setUp({ startsPerTurn: 0 });
    const clients = [await it.dial(), await it.dial(hello)];
    await until(async () => (await it.accepted()) === 2, { ...within, what: "both" });
    it.closeWaiting();
    await until(() => clients.every(({ destroyed }) => destroyed), { ...within, what: "their end" });
    assert.deepEqual([it.dropped, it.begun], [[], []]);
  });

  it("closes the oldest silent one of all for the next where too many are", async () => {
    await using it = await setUp({ maxSilent: 2 });
    const [oldest] = [await it.dial(undefined, "127.0.0.2"), await it.dial()];
    await it.dial(undefined, "127.0.0.3");
    await until(() => oldest.destroyed, { ...within, what: "the end of the oldest" });
    assert.deepEqual(it.dropped, ["crowded"]);
  });

  it("starts as many as may, the next when one has finished or is gone", async () => {
    await using it = await setUp({ maxStarting: 2 });
    for (let i = 0; i < 4; i++) await it.dial(hello);
    await until(() => it.begun.length === 2, { ...within, what: "two" });
    it.begun[0]?.finished();
    it.begun[0]?.finished(); // twice is once
    await until(() => it.begun.length === 3, { ...within, what: "the third" });
    it.begun[1]?.socket.destroy();
    await until(() => it.begun.length === 4, { ...within, what: "the fourth" });
  });

  it("a handshake that goes no further makes room", async () => {
    await using it = await setUp({ maxStarting: 1, startingMs: 5 });
    for (let i = 0; i < 8; i++) await it.dial(hello);
    await until(() => it.begun.length === 8, { ...within, what: "all of them" });
    assert.deepEqual(it.dropped, []);
  });

  it("an address with one connection does not stand behind another's many", async () => {
    await using it = await setUp({ startsPerTurn: 1 });
    const clients: Socket[] = [];
    for (let i = 0; i < 40; i++) clients.push(await it.dial());
    clients.push(await it.dial(undefined, "127.0.0.2"));
    await until(async () => (await it.accepted()) === 41, { ...within, what: "all connections" });
    // In one turn: the event loop finds all of them readable at once.
    for (const client of clients) client.write(hello);
    await until(() => it.begun.length === 41, { ...within, what: "all of them" });
    assert.equal(it.froms().indexOf("127.0.0.2"), 1);
  });

  it("the address with the longest line loses its oldest where too many wait", async () => {
    await using it = await setUp({ startsPerTurn: 0, maxWaiting: 2 });
    const [oldest, second] = [await it.dial(hello), await it.dial(hello)];
    await it.dial(hello, "127.0.0.2");
    await until(() => oldest.destroyed, { ...within, what: "the end of the oldest" });
    assert.deepEqual([it.dropped, second.destroyed], [["overload"], false]);
  });
});
