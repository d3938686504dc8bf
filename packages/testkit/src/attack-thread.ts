/**
 * Attacks in a thread of their own, so that making them delays no request of the honest client beside them. The thread runs this file, too.
 */
import { once } from "node:events";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { everythingOverHttp1, everythingOverHttp2 } from "./endless-attacks.ts";
import { http2Floods, pipelinedRequests } from "./http2-floods.ts";
import { type FloodResult, type FloodTarget, sendFlood } from "./send-flood.ts";
import { beginHandshakes, type HandshakeCount, renegotiate } from "./tls-attacks.ts";

export interface AttackRequest {
  readonly target: FloodTarget;
  /** A flood by its name, or one of the other attacks. */
  readonly attack: string;
}

export type AttackResult = FloodResult | HandshakeCount;

type Attack = (target: FloodTarget, answered: Promise<unknown>) => Promise<AttackResult>;

const otherAttacks: ReadonlyMap<string, Attack> = new Map<string, Attack>([
  ["handshakes without end", (target, answered) => beginHandshakes(target, 32, answered)],
  ["renegotiations of TLS 1.2", (target) => renegotiate(target, 100)],
  ["everything over HTTP/2", everythingOverHttp2],
  ["everything over HTTP/1.1", everythingOverHttp1],
]);

/** Sent to the thread once the honest client has been answered. */
const answeredMessage = "answered";

/** Resolves with how the attack ended; those that can go on do so until `answered` resolves. */
export async function attackAside(request: AttackRequest, answered: Promise<void>): Promise<AttackResult> {
  const worker = new Worker(new URL(import.meta.url), { workerData: request });
  const { promise, resolve, reject } = Promise.withResolvers<AttackResult>();
  worker.once("message", resolve).once("error", reject);
  worker.once("exit", () => reject(new Error("the attack ended without a result")));
  void answered.then(() => worker.postMessage(answeredMessage));
  try {
    return await promise;
  } finally {
    await worker.terminate();
  }
}

async function run({ target, attack }: AttackRequest, answered: Promise<unknown>): Promise<AttackResult> {
  const flood = [...http2Floods, pipelinedRequests].find(({ name }) => name === attack);
  if (flood !== undefined) return sendFlood(target, flood, answered);
  const other = otherAttacks.get(attack);
  if (other === undefined) throw new Error(`there is no attack ${attack}`);
  return other(target, answered);
}

const isRequest = (data: unknown): data is AttackRequest =>
  typeof data === "object" && data !== null && "attack" in data && "target" in data;

if (!isMainThread && parentPort !== null && isRequest(workerData))
  parentPort.postMessage(await run(workerData, once(parentPort, "message")));
