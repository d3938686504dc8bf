import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { describe, it } from "node:test";
import { until } from "@flotilla/runtime";
import { startBalancer } from "./balancer.ts";

/** A server that answers each connection with its name, and echoes. */
async function startTarget(name: string): Promise<Server & { readonly port: number }> {
  const server = createServer((socket) => {
    socket.on("error", () => socket.destroy());
    socket.write(`${name}\n`);
    socket.pipe(socket);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return Object.assign(server, { port: (server.address() as AddressInfo).port });
}

async function open(port: number): Promise<{ readonly socket: Socket; readonly greeting: string }> {
  const socket = connect({ host: "127.0.0.1", port }).setEncoding("utf8");
  const [greeting] = (await once(socket, "data")) as [string];
  return { socket, greeting: greeting.trim() };
}

describe("the balancer before replicas", () => {
  it("spreads connections evenly, and passes over a replica that is gone", async () => {
    const [a, b] = [await startTarget("a"), await startTarget("b")];
    await using balancer = await startBalancer({ port: 0, targets: [a.port, b.port] });
    const sockets: Socket[] = [];
    try {
      const greetings: string[] = [];
      for (let i = 0; i < 6; i++) {
        const { socket, greeting } = await open(balancer.port);
        sockets.push(socket);
        greetings.push(greeting);
      }
      assert.deepEqual(greetings.sort(), ["a", "a", "a", "b", "b", "b"]);
      assert.deepEqual([...balancer.connections().values()], [3, 3]);

      a.close();
      for (const socket of sockets.splice(0)) socket.destroy();
      await until(() => [...balancer.connections().values()].every((count) => count === 0), {
        withinMs: 30_000,
        what: "all connections to be closed",
      });
      const { socket, greeting } = await open(balancer.port);
      sockets.push(socket);
      assert.equal(greeting, "b");
      socket.write("back\n");
      assert.deepEqual(await once(socket, "data"), ["back\n"]);
    } finally {
      for (const socket of sockets) socket.destroy();
      a.close();
      b.close();
    }
  });

  it("closes the connection when no replica accepts", async () => {
    const gone = await startTarget("gone");
    gone.close();
    await using balancer = await startBalancer({ port: 0, targets: [gone.port] });
    const socket = connect({ host: "127.0.0.1", port: balancer.port });
    await once(socket, "close");
    assert.deepEqual([...balancer.connections().values()], [0]);
  });

  it("closes while a replica has not accepted a connection yet", { timeout: 5_000 }, async () => {
    const target = await startTarget("slow");
    const balancer = await startBalancer({ port: 0, targets: [target.port] });
    const socket = connect({ host: "127.0.0.1", port: balancer.port });
    const closed = once(socket, "close");
    while (balancer.connections().get(target.port) === 0) await new Promise(setImmediate);
    await balancer[Symbol.asyncDispose]();
    await closed;
    target.close();
    await until(() => balancer.connections().get(target.port) === 0, {
      withinMs: 30_000,
      what: "its connection to end",
    });
  });
});
