/** A service that answers each request as a test asks: debug pages by HTTP, the API of config-controller by HTTPS. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import {
  certificatePem,
  generatePrivateKey,
  issueLeaf,
  issueRoot,
  issuerOf,
  privateKeyPem,
  sanOf,
  spkiOf,
} from "@flotilla/pki";

interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly authorization: string | undefined;
  readonly body: string;
}

export type Answer = (request: SeenRequest) => { readonly status?: number; readonly body: unknown };

export interface AnsweringService extends AsyncDisposable {
  readonly url: string;
  readonly seen: readonly SeenRequest[];
  /** Options of a command that calls the API here, with a token and a root in files. */
  readonly apiOptions: readonly string[];
}

export async function answerPages(answer: Answer): Promise<AnsweringService> {
  const seen: SeenRequest[] = [];
  const server = createServer(listener(answer, seen));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url, seen, apiOptions: [], [Symbol.asyncDispose]: close };
}

export async function answerApi(answer: Answer): Promise<AnsweringService> {
  const seen: SeenRequest[] = [];
  const [rootKey, key] = [await generatePrivateKey("ecdsa-p256"), await generatePrivateKey("ecdsa-p256")];
  const notBeforeMs = Date.now() - 60_000;
  const times = { notBeforeMs, notAfterMs: notBeforeMs + 3_600_000 };
  const root = issueRoot({ serial: randomBytes(16), subject: { commonName: "root" }, ...times }, rootKey);
  const leaf = { serial: randomBytes(16), spki: spkiOf(key), sans: [sanOf("localhost")], ...times };
  const cert = certificatePem({ der: issueLeaf(leaf, issuerOf(root, rootKey)) });
  const server = createTlsServer({ key: privateKeyPem(key), cert }, listener(answer, seen));
  server.listen(0, "localhost");
  await once(server, "listening");
  const url = `https://localhost:${(server.address() as AddressInfo).port}`;
  const directory = mkdtempSync(join(tmpdir(), "flotilla-api-"));
  const [token, rootFile] = [join(directory, "token"), join(directory, "root.pem")];
  writeFileSync(token, "a-token\n");
  writeFileSync(rootFile, certificatePem(root));
  const close = async () => {
    rmSync(directory, { recursive: true, force: true });
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  const apiOptions = ["--server", url, "--token-file", token, "--root-file", rootFile];
  return { url, seen, apiOptions, [Symbol.asyncDispose]: close };
}

function listener(answer: Answer, seen: SeenRequest[]): RequestListener {
  return (request, response) => {
    void readRequest(request).then((read) => {
      seen.push(read);
      const { status = 200, body } = answer(read);
      response.writeHead(status).end(typeof body === "string" ? body : JSON.stringify(body));
    });
  };
}

async function readRequest(request: IncomingMessage): Promise<SeenRequest> {
  const { method = "", url = "", headers } = request;
  return { method, url, authorization: headers.authorization, body: await text(request) };
}
