/** Connections of this process, over TCP: both ends, and waiting bytes without a reader. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { it } from "node:test";
import { until } from "../wait.ts";
import { openConnections } from "./connections.ts";

it("are listed with both ends, and with what waits to be sent first", async () => {
  const accepted: Socket[] = [];
  const server = createServer((socket) => accepted.push(socket.pause())).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const [quiet, busy] = [connect(port, "127.0.0.1"), connect(port, "127.0.0.1")];
  try {
    await Promise.all([once(quiet, "connect"), once(busy, "connect")]);
    const bytes = 32 * 1024 * 1024;
    busy.write(Buffer.alloc(bytes));
    const at = `127.0.0.1:${port}`;
    const own = openConnections().filter(({ local, peer }) => local === at || peer === at);
    const [first, ...others] = own.filter(({ side }) => side === "client");
    assert.equal(first?.local, `127.0.0.1:${busy.localPort}`);
    assert.ok((first?.waitingBytes ?? 0) > 0 && (first?.waitingBytes ?? 0) + (first?.sentBytes ?? 0) === bytes);
    assert.deepEqual(
      others.map(({ local, peer, waitingBytes }) => ({ local, peer, waitingBytes })),
      [{ local: `127.0.0.1:${quiet.localPort}`, peer: at, waitingBytes: 0 }],
    );
    const areListed = () =>
      openConnections().filter(({ side, local }) => side === "server" && local === at).length === 2;
    await until(areListed, { withinMs: 30_000, what: "both accepted connections to be listed" });
  } finally {
    for (const socket of [quiet, busy, ...accepted]) socket.destroy();
    server.close();
  }
  await once(server, "close");
  assert.deepEqual(
    openConnections().filter(({ peer }) => peer.endsWith(`:${port}`)),
    [],
  );
});
