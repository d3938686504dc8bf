/**
 * A proxy before a Consul agent that spoils answers to blocking queries: what a bad network, a stale server and one restored
 * from a snapshot do. Questions without an index, which are fresh reads, pass as they are.
 */
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { delay } from "@flotilla/runtime";

export type AnswerFault =
  /** No answer, the line is cut. */
  | "cut"
  | "delay"
  /** The answer before once more, with its index. */
  | "repeat"
  /** The right answer with an index of long ago. */
  | "rewind"
  /** The answer before under the index of the new one: nothing on the wire shows that a change was lost. */
  | "lose";

export interface FaultyAnswers extends AsyncDisposable {
  readonly url: string;
  /** Of answers to blocking queries, the share that meets a fault. */
  share: number;
  /** Those that are drawn from. */
  faults: readonly AnswerFault[];
  /** Questions for this datacenter are refused. */
  away: string | undefined;
  readonly counts: Readonly<Record<AnswerFault, number>>;
}

interface Answer {
  readonly status: number;
  readonly index: string;
  readonly body: string;
}

const delayMs = 300;
const noPath: Answer = { status: 500, index: "0", body: "No path to datacenter" };

export async function startFaultyAnswers(agent: string, random: () => number): Promise<FaultyAnswers> {
  const counts: Record<AnswerFault, number> = { cut: 0, delay: 0, repeat: 0, rewind: 0, lose: 0 };
  const faulty = { share: 0, faults: [] as readonly AnswerFault[], away: undefined as string | undefined, counts };
  const draw = (): AnswerFault | undefined => {
    if (random() >= faulty.share) return undefined;
    return faulty.faults[Math.floor(random() * faulty.faults.length)];
  };
  /** By path: the last answer that was a right one. */
  const before = new Map<string, Answer>();
  const answer = async (asked: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(asked.url ?? "/", agent);
    const isAway = () => faulty.away !== undefined && url.searchParams.get("dc") === faulty.away;
    const right = isAway() ? noPath : await ask(url, response);
    // Questions that waited when the way was lost are refused too.
    if (isAway()) {
      response.writeHead(noPath.status).end(noPath.body);
      return;
    }
    const path = `${url.pathname} ${url.searchParams.get("dc")}`;
    const old = before.get(path);
    before.set(path, right);
    const isNews = old !== undefined && old.index !== right.index;
    const fault = url.searchParams.has("index") && isNews ? draw() : undefined;
    if (fault !== undefined) counts[fault]++;
    if (fault === "cut") {
      response.destroy();
      return;
    }
    if (fault === "delay") await delay(delayMs);
    const { status, index, body } = fault === undefined ? right : spoiled(right, old ?? right, fault);
    response.writeHead(status, { "content-type": "application/json", "x-consul-index": index }).end(body);
  };
  const server = createServer((asked, response) => {
    // The client has hung up, or the agent has: the line is cut as it would be without us.
    answer(asked, response).catch(() => response.destroy());
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  return Object.assign(faulty, {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  });
}

function spoiled(right: Answer, old: Answer, fault: AnswerFault): Answer {
  switch (fault) {
    case "repeat":
      return old;
    case "rewind":
      return { ...right, index: "1" };
    case "lose":
      return { ...right, body: old.body };
    default:
      return right;
  }
}

function ask(url: URL, response: ServerResponse): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, (answer) => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => chunks.push(chunk));
      answer.on("error", reject);
      answer.on("end", () => {
        const index = String(answer.headers["x-consul-index"] ?? "0");
        resolve({ status: answer.statusCode ?? 500, index, body: Buffer.concat(chunks).toString("utf8") });
      });
    });
    sent.on("error", reject);
    response.on("close", () => sent.destroy());
    sent.end();
  });
}
