/** A proxy before an API server that drops, delays, repeats and swaps events of watches. Everything else passes as it is. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { request } from "node:https";
import type { AddressInfo } from "node:net";
import { loadKubeConfig } from "@flotilla/kube-api";
import { delay } from "@flotilla/runtime";

export interface FaultyWatches extends AsyncDisposable {
  readonly url: string;
  /** Of events, the share that meets a fault. */
  share: number;
  /** A fault for all of that share; undefined draws one of four. */
  only: Fault | undefined;
  readonly counts: Readonly<Record<Fault, number>>;
}

type Fault = "drop" | "delay" | "repeat" | "swap";
const faults: readonly Fault[] = ["drop", "delay", "repeat", "swap"];
const delayMs = 200;

export async function startFaultyWatches(kubeconfig: string, random: () => number): Promise<FaultyWatches> {
  const config = await loadKubeConfig({ KUBECONFIG: kubeconfig });
  if (config === undefined) throw new Error("the kubeconfig names no cluster");
  const { token = "" } = await config.credentials();
  const counts: Record<Fault, number> = { drop: 0, delay: 0, repeat: 0, swap: 0 };
  const faulty = { share: 0, only: undefined as Fault | undefined, counts };
  const draw = (): Fault | undefined => {
    if (random() >= faulty.share) return undefined;
    const fault = faulty.only ?? faults[Math.floor(random() * faults.length)];
    if (fault !== undefined) counts[fault]++;
    return fault;
  };
  const server = createServer((asked, answer) => {
    const url = new URL(asked.url ?? "/", config.server);
    const headers = { accept: "application/json", authorization: `Bearer ${token}` };
    const sent = request(url, { method: asked.method, headers, rejectUnauthorized: false }, (response) => {
      answer.writeHead(response.statusCode ?? 500, { "content-type": "application/json" });
      answer.flushHeaders();
      const passing = url.searchParams.has("watch") ? passEvents(response, answer, draw) : pass(response, answer);
      passing.then(
        () => answer.end(),
        () => answer.destroy(),
      );
    });
    sent.on("error", () => answer.destroy());
    answer.on("close", () => sent.destroy());
    sent.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return Object.assign(faulty, {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}

async function pass(from: IncomingMessage, to: ServerResponse): Promise<void> {
  for await (const chunk of from) to.write(chunk);
}

async function passEvents(from: IncomingMessage, to: ServerResponse, draw: () => Fault | undefined): Promise<void> {
  let rest = "";
  let swapped: string | undefined;
  for await (const chunk of from.setEncoding("utf8")) {
    const lines = (rest + String(chunk)).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const fault = line.startsWith('{"type":"BOOKMARK"') ? undefined : draw();
      if (fault === "drop") continue;
      if (fault === "delay") await delay(delayMs);
      if (fault === "swap" && swapped === undefined) {
        swapped = line;
        continue;
      }
      const after = swapped === undefined ? "" : `${swapped}\n`;
      swapped = undefined;
      to.write(`${line}\n${fault === "repeat" ? `${line}\n` : ""}${after}`);
    }
  }
}
