/** The port of the console: plain, or with a certificate of files that may come later and change. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { connect } from "node:tls";
import { createHttpServer, type ServerTls, sendText } from "@flotilla/http";
import { createLogger } from "@flotilla/runtime";
import { createTestAuthority } from "@flotilla/testkit";
import { type ConsoleService, readSettings } from "../settings.ts";
import { servePort } from "./serve-port.ts";

const directory = mkdtempSync(join(tmpdir(), "console-port-"));
after(() => rmSync(directory, { recursive: true }));

function serve(env: Readonly<Record<string, string>>) {
  const stop = new AbortController();
  const lines: string[] = [];
  const conditions: (string | undefined)[] = [];
  const state = { isReady: false };
  const service = {
    settings: readSettings({ CONSOLE_PORT: "0", WORK_DIR: directory, ...env }),
    log: createLogger("console", "info", { write: (line) => void lines.push(line) }),
    health: {
      markReady: () => {
        state.isReady = true;
      },
      setCondition: (_: string, reason: string | undefined) => void conditions.push(reason),
    },
    stop: stop.signal,
  } as unknown as ConsoleService;
  const create = (tls: ServerTls | undefined) =>
    createHttpServer({
      ...(tls !== undefined && { tls }),
      drainMs: 1,
      respond: async (_, response) => sendText(response, { status: 200, contentType: "text/plain", text: "page" }),
      failure: () => ({ status: 500, contentType: "text/plain", text: "" }),
      onFailure: () => undefined,
    });
  const opened = Promise.withResolvers<number>();
  const running = servePort(service, create, opened.resolve);
  running.catch(opened.reject);
  const end = async () => {
    stop.abort();
    await running.catch(() => undefined);
  };
  return { opened: opened.promise, running, stop, lines, conditions, state, [Symbol.asyncDispose]: end };
}

describe("the port of the console", () => {
  it("is plain unless that is set otherwise, and closed when the service stops", async () => {
    await using it = serve({});
    const port = await it.opened;
    assert.equal(it.state.isReady, true);
    assert.equal(await (await fetch(`http://127.0.0.1:${port}`)).text(), "page");
    assert.match(it.lines.join(""), new RegExp(`"url":"http://localhost:${port}"`));
    it.stop.abort();
    await it.running;
    await assert.rejects(fetch(`http://127.0.0.1:${port}`));
  });

  it("has the certificate of the files over TLS", async () => {
    const authority = await createTestAuthority(Date.now());
    const { certificatePem, keyPem } = await authority.keyPair();
    const [certFile, keyFile] = [join(directory, "tls.crt"), join(directory, "tls.key")];
    writeFileSync(certFile, certificatePem);
    writeFileSync(keyFile, keyPem, { mode: 0o600 });
    const files = { CONSOLE_CERT_FILE: certFile, CONSOLE_KEY_FILE: keyFile };
    await using it = serve({ CONSOLE_TLS: "true", ...files });
    const port = await it.opened;
    const socket = connect({ port, host: "127.0.0.1", servername: "web.example.com", ca: [authority.rootPem] });
    await once(socket, "secureConnect");
    assert.equal(socket.authorized, true);
    socket.destroy();
    assert.match(it.lines.join(""), /"url":"https:/);
  });

  it("is not open before there is a certificate, and names ca as the one that is waited for", async () => {
    await using it = serve({ CONSOLE_TLS: "true", CA_ADDRESS: "127.0.0.1:1" });
    assert.equal(it.conditions[0], "waiting for ca at 127.0.0.1:1");
    it.stop.abort();
    await assert.rejects(it.opened);
    assert.equal(it.state.isReady, false);
  });
});
