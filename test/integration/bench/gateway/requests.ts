/** Requests to the gateway's Envoy: one that looks for a change, and a load that counts failures. */
import { Agent, request } from "node:http";
import { delay } from "@flotilla/runtime";

/** As much later than it happened a change may be seen. */
const askAgainMs = 2;

interface Answer {
  readonly status: number;
  readonly revision: string;
}

function ask(agent: Agent, port: number, host: string): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const sent = request({ agent, host: "127.0.0.1", port, headers: { host } }, (response) => {
    const revision = String(response.headers["x-revision"] ?? "");
    response.resume().once("end", () => resolve({ status: response.statusCode ?? 0, revision }));
    response.once("error", reject);
  });
  sent.once("error", reject).end();
  return promise;
}

/** Resolves with the time at which the gateway answered with the revision. @throws after 60 s */
export async function seenAt(port: number, host: string, revision: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const endMs = performance.now() + 60_000;
  try {
    for (;;) {
      const answer = await ask(agent, port, host).catch(() => undefined);
      const nowMs = performance.now();
      if (answer?.status === 200 && answer.revision === String(revision)) return nowMs;
      // Without a pause the questions would keep a processor busy that the answer needs.
      await delay(askAgainMs);
      if (nowMs > endMs) throw new Error(`${host} never answered with revision ${revision}`);
    }
  } finally {
    agent.destroy();
  }
}

export interface Load {
  /** Ends it: how many were answered with 200, and what became of the others. */
  stop(): Promise<{ readonly answered: number; readonly failed: readonly string[] }>;
}

/** `clients` that ask for the host without a pause. */
export function startLoad(port: number, host: string, clients: number): Load {
  const agent = new Agent({ keepAlive: true });
  const [failed, isStopped] = [[] as string[], new AbortController()];
  let answered = 0;
  const running = Array.from({ length: clients }, async () => {
    while (!isStopped.signal.aborted)
      await ask(agent, port, host).then(
        ({ status }) => (status === 200 ? answered++ : failed.push(String(status))),
        (error: Error) => failed.push(error.message),
      );
  });
  return {
    stop: async () => {
      isStopped.abort();
      await Promise.all(running);
      agent.destroy();
      return { answered, failed };
    },
  };
}
