import assert from "node:assert/strict";
import { type AddressInfo, createServer } from "node:net";
import { it } from "node:test";
import { connect } from "node:tls";
import { readHello } from "./hello-wait.ts";

/** The first bytes that a real client sends. */
async function realHello(): Promise<Buffer> {
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  const server = createServer((socket) => socket.once("data", resolve));
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const client = connect({ port: (server.address() as AddressInfo).port, host: "127.0.0.1" });
  client.on("error", () => undefined);
  try {
    return await promise;
  } finally {
    client.destroy();
    server.close();
  }
}

it("a hello is whole with its last byte and not before", async () => {
  const hello = await realHello();
  for (let length = 0; length < hello.length; length++)
    assert.equal(readHello(hello.subarray(0, length)), "more", `${length} bytes`);
  assert.equal(readHello(hello), "whole");
  assert.equal(readHello(Buffer.concat([hello, Buffer.of(1)])), "whole");
});

const others: readonly (readonly [string, string])[] = [
  ["HTTP", "474554202f20"],
  ["the preface of HTTP/2", "505249202a20"],
  ["an alert", "150303000202"],
  ["SSL 2", "802e01000200"],
  ["a handshake message of another type", "160301010002"],
  ["a record without room for a message", "1603010003"],
  ["a record longer than any", "160301400101"],
];
for (const [name, hex] of others)
  it(`${name} is none`, () => assert.equal(readHello(Buffer.from(hex, "hex")), "other"));
