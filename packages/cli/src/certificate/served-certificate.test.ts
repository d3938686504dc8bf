/** A server's certificate is compared with the one written for it, for plain TLS and for NATS, and a difference is reported. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
import { after, describe, it } from "node:test";
import { createSecureContext, TLSSocket } from "node:tls";
import type { TlsMaterial } from "@flotilla/auth/serving";
import { certificatePem, generatePrivateKey, issueRoot, privateKeyPem, sanOf } from "@flotilla/pki";
import { createLogger } from "@flotilla/runtime";
import { untilServed } from "./served-certificate.ts";

const servers: Server[] = [];
after(() => {
  for (const server of servers) server.close();
});

async function newMaterial(): Promise<TlsMaterial> {
  const key = await generatePrivateKey("ecdsa-p256");
  const notBeforeMs = Date.now() - 60_000;
  const times = { notBeforeMs, notAfterMs: notBeforeMs + 3_600_000 };
  const root = issueRoot({ serial: randomBytes(16), subject: {}, sans: [sanOf("localhost")], ...times }, key);
  const pem = certificatePem(root);
  return { keyPem: privateKeyPem(key), chainPem: pem, rootsPem: pem };
}

/** Presents what `current` gives at each connection; NATS sends a line first. */
async function present(current: () => TlsMaterial, greeting = ""): Promise<number> {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    if (greeting !== "") socket.write(greeting);
    const { keyPem: key, chainPem: cert } = current();
    const secured = new TLSSocket(socket, { isServer: true, secureContext: createSecureContext({ key, cert }) });
    secured.on("error", () => undefined);
    secured.resume();
  });
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

function recorded() {
  const lines: string[] = [];
  return { log: createLogger("test", "info", { write: (line) => void lines.push(line) }), text: () => lines.join("") };
}

const greetings = { tls: "", nats: 'INFO {"tls_required":true}\r\n' };

describe("the certificate that a server presents", () => {
  for (const [protocol, greeting] of Object.entries(greetings))
    it(`is compared over ${protocol}`, async () => {
      const material = await newMaterial();
      const port = await present(() => material, greeting);
      const { log, text } = recorded();
      const onOverdue = () => assert.fail("it is presented");
      const options = { url: `${protocol}://localhost:${port}`, material, log, onOverdue };
      await untilServed(options, AbortSignal.timeout(10_000));
      assert.match(text(), /server presents its certificate/);
    });

  it("is reported once while it is another, and waited for", async () => {
    const [old, renewed] = [await newMaterial(), await newMaterial()];
    let current = old;
    const port = await present(() => current);
    const { log, text } = recorded();
    const onOverdue = (): Promise<void> => {
      current = renewed;
      return Promise.resolve();
    };
    const options = { url: `tls://localhost:${port}`, material: renewed, log, onOverdue, overdueAfterMs: 0 };
    await untilServed(options, AbortSignal.timeout(10_000));
    assert.match(text(), /it presents one that ends at.*server does not present its certificate/);
    assert.match(text(), /server presents its certificate/);
  });

  it("is waited for without a report before it is overdue", async () => {
    const [old, renewed] = [await newMaterial(), await newMaterial()];
    let connections = 0;
    const port = await present(() => (connections++ === 0 ? old : renewed));
    const { log, text } = recorded();
    const onOverdue = () => assert.fail("it is not overdue");
    const options = { url: `tls://localhost:${port}`, material: renewed, log, onOverdue };
    await untilServed(options, AbortSignal.timeout(10_000));
    assert.match(text(), /server presents its certificate/);
    assert.doesNotMatch(text(), /does not present/);
  });

  it("is not that of a server which does not greet as NATS does", async () => {
    const material = await newMaterial();
    const port = await present(() => material, "220 mail.example\r\n");
    const { log, text } = recorded();
    const stop = new AbortController();
    const onOverdue = async () => stop.abort();
    const options = { url: `nats://localhost:${port}`, material, log, onOverdue, overdueAfterMs: 0 };
    await untilServed(options, stop.signal);
    assert.match(text(), /it is no NATS.*server does not present its certificate/);
  });

  it("is waited for while the server does not run, until the end", async () => {
    const material = await newMaterial();
    const { log, text } = recorded();
    const options = { url: "tls://localhost:1", material, log, onOverdue: () => Promise.resolve() };
    await untilServed(options, AbortSignal.timeout(400));
    assert.doesNotMatch(text(), /presents/);
  });
});
