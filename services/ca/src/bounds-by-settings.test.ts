/** Bounds of requests that are set through the environment of ca hold at their new values. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { until } from "@flotilla/runtime";
import { type ServiceError, status } from "@grpc/grpc-js";
import { type RunningCa, startCa } from "./main.fixture.ts";
import { openClient, sendOver } from "./raw-request.fixture.ts";

const soon = (what: string) => ({ withinMs: 30_000, everyMs: 5, what });
let api: Awaited<ReturnType<typeof startApi>>;
let ca: RunningCa;

before(async () => {
  api = await startApi();
  const settings = { CA_MAX_PENDING: "4", MAX_TOKEN_REVIEWS: "2", CLUSTER_KUBECONFIG: api.kubeconfig };
  ca = await startCa(settings);
});
after(async () => {
  await ca[Symbol.asyncDispose]();
  await api[Symbol.asyncDispose]();
});

/** An API server that has nothing, takes every write, and leaves reviews of tokens open until they are confirmed. */
async function startApi() {
  const reviews: ServerResponse[] = [];
  const server = createServer((request, response) => {
    const { method = "", url = "" } = request;
    const parts: Buffer[] = [];
    request
      .on("data", (part: Buffer) => parts.push(part))
      .on("end", () => {
        if (url.includes("tokenreviews")) reviews.push(response);
        else if (url.includes("watch=")) response.writeHead(200).flushHeaders();
        else if (method !== "GET") response.end(Buffer.concat(parts));
        else if (/\/(?:secrets|namespaces|pods|nodes|configmaps)(?:\?|$)/.test(url))
          response.end(JSON.stringify({ metadata: { resourceVersion: "1" }, items: [] }));
        else response.writeHead(404).end(JSON.stringify({ kind: "Status", code: 404, reason: "NotFound" }));
      });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const directory = await mkdtemp(join(tmpdir(), "ca-bounds-"));
  const kubeconfig = join(directory, "config");
  const cluster = { server: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  const contexts = [{ name: "x", context: { cluster: "c", user: "u" } }];
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "c", cluster }],
    contexts,
    "current-context": "x",
  };
  await writeFile(kubeconfig, JSON.stringify({ ...config, users: [{ name: "u", user: { token: "t" } }] }));
  return {
    kubeconfig,
    reviews,
    confirm: (response: ServerResponse | undefined) =>
      response?.end(
        JSON.stringify({
          status: {
            authenticated: true,
            user: { username: "system:serviceaccount:shop:web", groups: ["system:serviceaccounts"] },
          },
        }),
      ),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await rm(directory, { recursive: true });
    },
  };
}

describe("ca as it is set", () => {
  it("MAX_TOKEN_REVIEWS: the API server is asked about as many tokens at a time, the next one after an answer", async () => {
    const client = openClient(ca);
    const sent = Promise.all(["a", "b", "c", "d"].map((token) => sendOver(client, { token })));
    sent.catch(() => undefined);
    try {
      for (let asked = 2; asked <= 4; asked++) {
        await until(() => api.reviews.length === asked, soon(`${asked} questions`));
        // Time for one too many.
        assert.ok((await sendOver(client, { token: await ca.mint("shop", "other") })).length > 0);
        assert.equal(api.reviews.length, asked);
        api.confirm(api.reviews[asked - 2]);
      }
      api.confirm(api.reviews[3]);
      for (const chain of await sent) assert.ok(chain.length > 0);
    } finally {
      client.close();
    }
  });

  it("CA_MAX_PENDING: of requests of many identities those beyond it are refused, and the next are answered", async () => {
    const tokens = await Promise.all(Array.from({ length: 40 }, (_, at) => ca.mint("shop", `account-${at}`)));
    const clients = Array.from({ length: 5 }, () => openClient(ca));
    const codes = new Set<status>();
    const isReached = async (): Promise<boolean> => {
      const calls = tokens.map((token, at) => sendOver(clients[at % clients.length] ?? openClient(ca), { token }));
      for (const sent of await Promise.allSettled(calls))
        codes.add(sent.status === "fulfilled" ? status.OK : (sent.reason as ServiceError).code);
      return codes.has(status.RESOURCE_EXHAUSTED);
    };
    await until(isReached, soon("a refusal"));
    assert.deepEqual([...codes].sort(), [status.OK, status.RESOURCE_EXHAUSTED]);
    const [client] = clients;
    assert.ok(client !== undefined && (await sendOver(client, { token: tokens[0] ?? "" })).length > 0);
    for (const one of clients) one.close();
  });
});
