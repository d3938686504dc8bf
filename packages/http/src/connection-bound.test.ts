/** Connections beyond the bounds, against a real server on several addresses of this host. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, type Socket } from "node:net";
import { describe, it } from "node:test";
import { createHttpServer, sendText } from "./index.ts";

async function open(bounds: { readonly maxPerAddress: number; readonly maxInAll: number }) {
  const release = Promise.withResolvers<void>();
  const http = createHttpServer({
    ...{ drainMs: 0, bounds, onFailure: () => undefined },
    failure: () => ({ status: 500, contentType: "text/plain", text: "" }),
    respond: async ({ url }, response) => {
      if (url === "/slow") await release.promise;
      sendText(response, { status: 200, contentType: "text/plain", text: "answered" });
    },
  });
  http.server.listen(0, "127.0.0.1");
  await once(http.server, "listening");
  const { port } = http.server.address() as AddressInfo;
  const sockets: Socket[] = [];
  /** One after the other, so that the server sees them in this order. */
  const come = async (count: number, localAddress = "127.0.0.1"): Promise<readonly Socket[]> => {
    const come: Socket[] = [];
    for (let at = 0; at < count; at++) {
      const socket = connect({ host: "127.0.0.1", port, localAddress });
      socket.on("error", () => undefined).resume();
      await Promise.all([once(socket, "connect"), once(http.server, "connection")]);
      come.push(socket);
    }
    sockets.push(...come);
    return come;
  };
  const dispose = async () => {
    for (const socket of sockets) socket.destroy();
    await http[Symbol.asyncDispose]();
  };
  return { url: `http://127.0.0.1:${port}`, come, release: release.resolve, [Symbol.asyncDispose]: dispose };
}

const closed = (socket: Socket | undefined) => (socket === undefined ? undefined : once(socket, "close"));

describe("connections beyond the bounds", () => {
  it("of one address close its oldest, and the next is answered", async () => {
    await using it = await open({ maxPerAddress: 3, maxInAll: 100 });
    const sockets = await it.come(3);
    const first = closed(sockets[0]);
    assert.equal(await (await fetch(it.url)).text(), "answered");
    await first;
    assert.deepEqual(
      sockets.map(({ destroyed }) => destroyed),
      [true, false, false],
    );
  });

  it("leave those that wait for an answer", async () => {
    await using it = await open({ maxPerAddress: 2, maxInAll: 100 });
    const slow = fetch(`${it.url}/slow`);
    const [idle] = await it.come(1);
    const gone = closed(idle);
    await it.come(1);
    await gone;
    it.release();
    assert.equal(await (await slow).text(), "answered");
  });

  it("are none while as many are open as are admitted in all", async () => {
    await using it = await open({ maxPerAddress: 100, maxInAll: 4 });
    const sockets = await it.come(3);
    assert.equal(await (await fetch(it.url)).text(), "answered");
    assert.deepEqual(
      sockets.map(({ destroyed }) => destroyed),
      [false, false, false],
    );
  });

  it("in all close one of the address that has the most", async () => {
    await using it = await open({ maxPerAddress: 100, maxInAll: 4 });
    const [honest] = await it.come(1, "127.0.0.2");
    const many = await it.come(3, "127.0.0.3");
    const gone = closed(many[0]);
    await it.come(1, "127.0.0.4");
    await gone;
    assert.equal(honest?.destroyed, false);
  });
});
