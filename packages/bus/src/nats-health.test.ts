/** The health check of a NATS server, answered by a server of the test. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { describe, it } from "node:test";
import { natsHealth } from "./nats-health.ts";

const greeting = 'INFO {"server_id":"s","version":"2.15.0","proto":1,"headers":true,"max_payload":1048576}\r\n';

/** Answers the health check with `answer`; undefined: the connection ends. */
function aServer(answer: string | undefined) {
  const asked: string[] = [];
  return listening(asked, (socket) => {
    socket.on("error", () => undefined);
    socket.write(greeting);
    let [held, inbox] = ["", ""];
    socket.on("data", (bytes) => {
      held += String(bytes);
      const lines = held.split("\r\n");
      held = lines.pop() ?? "";
      for (const line of lines) {
        const [word, subject = "", third = ""] = line.split(" ");
        if (word === "CONNECT") asked.push(line.slice(8));
        if (word === "PING") socket.write("PONG\r\n");
        if (word === "SUB") inbox = third;
        if (word !== "PUB") continue;
        asked.push(subject);
        if (answer === undefined) socket.destroy();
        else socket.write(`MSG ${third} ${inbox} ${Buffer.byteLength(answer)}\r\n${answer}\r\n`);
      }
    });
  });
}

async function listening(asked: readonly string[], onConnection: (socket: Socket) => void) {
  const server = createServer(onConnection);
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    server.close();
    await once(server, "close");
  };
  return { port, asked, [Symbol.asyncDispose]: close };
}
const user = { name: "system", password: "secret" };

describe("the health of a NATS server", () => {
  const cases: readonly (readonly [name: string, answer: string | undefined, report: string | undefined])[] = [
    ["is well", '{"data":{"status_code":200}}', undefined],
    ["has the error that it reports", '{"data":{"status_code":503,"error":"write failed"}}', "write failed"],
    ["has its status where it reports no error", '{"data":{"status_code":500}}', "status 500"],
    ["is unknown without a status", '{"data":{}}', undefined],
    ["is unknown without data", "{}", undefined],
    ["is unknown where its answer is no JSON", "no", undefined],
    ["is unknown where it ends the connection", undefined, undefined],
  ];
  for (const [name, answer, report] of cases)
    it(name, async () => {
      await using server = await aServer(answer);
      assert.equal(await natsHealth(server.port, user), report);
      const [connect = "", subject] = server.asked;
      const { user: given, pass } = JSON.parse(connect) as { readonly user: string; readonly pass: string };
      assert.deepEqual([given, pass, subject], [user.name, user.password, "$SYS.REQ.SERVER.PING.HEALTHZ"]);
    });

  for (const end of ["destroy", "resetAndDestroy"] as const)
    it(`is unknown where the server greets and ends the connection (${end})`, async () => {
      await using server = await listening([], (socket) => socket.write(greeting, () => socket[end]()));
      for (let round = 0; round < 20; round++) assert.equal(await natsHealth(server.port, user), undefined);
    });

  it("is unknown where nothing listens", async () => {
    const server = await aServer(undefined);
    await server[Symbol.asyncDispose]();
    assert.equal(await natsHealth(server.port, user), undefined);
  });
});
