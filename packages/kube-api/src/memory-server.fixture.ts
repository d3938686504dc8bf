/** For tests: a memory API behind HTTP on a free port of this machine, and a kubeconfig that leads to it. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KubeError } from "./errors.ts";
import type { MemoryApi } from "./memory-api.fixture.ts";

export interface MemoryServer extends AsyncDisposable {
  /** The path of the file. */
  readonly kubeconfig: string;
}

/** Answers single requests, and no watches. */
export async function serveMemoryApi({ api }: MemoryApi): Promise<MemoryServer> {
  const answer = async (request: IncomingMessage): Promise<unknown> => {
    const [path = "", query] = (request.url ?? "").split("?");
    if (request.method === "GET") return await api.get(request.url ?? "");
    if (request.method === "DELETE") return (await api.delete(path)) ? {} : undefined;
    const object: unknown = JSON.parse(await bodyOf(request));
    if (request.method === "PATCH") {
      const fieldManager = new URLSearchParams(query).get("fieldManager") ?? "";
      return await api.apply(path, object, { fieldManager, force: true });
    }
    return request.method === "POST" ? await api.create(path, object) : await api.replace(path, object);
  };
  const server = createServer((request, response) => {
    const send = (status: number, body: unknown) => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    };
    answer(request).then(
      (body) => send(body === undefined ? 404 : 200, body ?? { message: "not found" }),
      (error: unknown) => send((error instanceof KubeError && error.status) || 500, { message: String(error) }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const directory = mkdtempSync(join(tmpdir(), "memory-api-"));
  const kubeconfig = join(directory, "config");
  const { port } = server.address() as AddressInfo;
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      ...{ apiVersion: "v1", kind: "Config", "current-context": "memory" },
      clusters: [{ name: "memory", cluster: { server: `http://127.0.0.1:${port}` } }],
      users: [{ name: "admin", user: { token: "any" } }],
      contexts: [{ name: "memory", context: { cluster: "memory", user: "admin" } }],
    }),
  );
  return {
    kubeconfig,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(directory, { recursive: true });
    },
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += String(chunk);
  return text;
}
