/** An agent for tests: a catalog in memory behind the four addresses that are asked, with blocking queries. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface FakeConsul extends AsyncDisposable {
  readonly url: string;
  /** Questions so far, the most at once among them. */
  readonly asked: { total: number; mostAtOnce: number };
  /** Undefined takes the service away. */
  set(name: string, instances: readonly unknown[] | undefined): void;
  /** All have the same services. */
  setDatacenters(names: readonly string[]): void;
  /** Every question is refused with this status; 0 ends that. */
  refuse(status: number): void;
  /** All indexes start anew, as after a restore. */
  rewind(): void;
}

interface Waiting {
  readonly path: string;
  readonly index: number;
  readonly response: ServerResponse;
}

export function fakeInstance(id: string, over: Readonly<Record<string, unknown>> = {}): unknown {
  return {
    Node: { Node: "n1", Address: "10.0.0.1", Datacenter: "dc1" },
    Service: {
      ID: id,
      Service: "s",
      Address: "10.0.1.1",
      Port: 80,
      Tags: [],
      Meta: null,
      Weights: { Passing: 1, Warning: 1 },
      ...over,
    },
    Checks: [{ Status: "passing" }],
  };
}

export async function startFakeConsul(): Promise<FakeConsul> {
  const catalog = new Map<string, { readonly instances: readonly unknown[]; readonly index: number }>();
  const indexes = { list: 1, last: 1 };
  const asked = { total: 0, mostAtOnce: 0 };
  let refusing = 0;
  let datacenters: readonly string[] = ["dc1"];
  let waiting = new Set<Waiting>();
  const valueOf = (path: string): { readonly body: unknown; readonly index: number } => {
    if (path === "/v1/catalog/datacenters") return { body: datacenters, index: 0 };
    if (path === "/v1/catalog/services") {
      return { body: Object.fromEntries([...catalog.keys()].map((name) => [name, []])), index: indexes.list };
    }
    const known = catalog.get(decodeURIComponent(path.split("/").at(-1) ?? ""));
    return { body: known?.instances ?? [], index: known?.index ?? indexes.list };
  };
  const answer = ({ path, response }: Waiting) => {
    const { body, index } = valueOf(path);
    response.writeHead(200, { "x-consul-index": String(index) }).end(JSON.stringify(body));
  };
  const wake = () => {
    for (const one of waiting) {
      if (valueOf(one.path).index === one.index) continue;
      waiting.delete(one);
      answer(one);
    }
  };
  const server = createServer((request, response) => {
    asked.total += 1;
    if (refusing > 0) return void response.writeHead(refusing).end("No cluster leader");
    const url = new URL(request.url ?? "/", "http://consul");
    const one = { path: url.pathname, index: Number(url.searchParams.get("index") ?? 0), response };
    if (one.index === 0 || valueOf(one.path).index !== one.index) return answer(one);
    waiting.add(one);
    asked.mostAtOnce = Math.max(asked.mostAtOnce, waiting.size);
    const timer = setTimeout(
      () => waiting.delete(one) && answer(one),
      Number.parseInt(url.searchParams.get("wait") ?? "1", 10) * 1_000,
    );
    response.on("close", () => {
      clearTimeout(timer);
      waiting.delete(one);
    });
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    set(name, instances) {
      const index = ++indexes.last;
      if (catalog.has(name) !== (instances !== undefined)) indexes.list = index;
      if (instances === undefined) catalog.delete(name);
      else catalog.set(name, { instances, index });
      wake();
    },
    setDatacenters(names) {
      datacenters = names;
    },
    refuse(status) {
      refusing = status;
      if (status > 0) for (const { response } of waiting) response.destroy();
      waiting = new Set();
    },
    rewind() {
      indexes.list = indexes.last = 1;
      for (const [name, { instances }] of catalog) catalog.set(name, { instances, index: ++indexes.last });
      wake();
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
