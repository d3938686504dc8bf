/**
 * Checks that a NATS server can write its streams. nats-server 2.15 never writes to a stream again that it failed to write once, also after
 * there is room on the disk: it answers reads, keeps its connections, and shows the failure in its health check only, until it is
 * restarted.
 */
import { connect, NatsError } from "nats";

interface HealthReply {
  readonly data?: { readonly status_code?: number; readonly error?: string };
}

const question = "$SYS.REQ.SERVER.PING.HEALTHZ";
const answerWithinMs = 2_000;

/**
 * The report of the health check of the server on this port of this host; undefined while all is well. It is asked as a user of the system
 * account. A server that gives no answer reports nothing: whether it runs at all is for its launcher to see.
 */
export async function natsHealth(
  port: number,
  { name, password }: { readonly name: string; readonly password: string },
): Promise<string | undefined> {
  const reply = await askHealth(port, name, password).catch((error: unknown) => {
    if (error instanceof NatsError || isOfSocket(error)) return undefined;
    throw error;
  });
  const { status_code: status, error } = reply?.data ?? {};
  return status === undefined || status === 200 ? undefined : (error ?? `status ${status}`);
}

/** A busy server may close the connection while it is greeted; the client library hands the error of the socket on. */
function isOfSocket(error: unknown): boolean {
  return error instanceof Error && "syscall" in error;
}

/** @throws NatsError, or an error of the socket, without an answer that is JSON */
async function askHealth(port: number, user: string, pass: string): Promise<HealthReply> {
  const servers = `127.0.0.1:${port}`;
  const connection = await connect({ servers, user, pass, reconnect: false, timeout: answerWithinMs });
  try {
    const reply = await connection.request(question, "{}", { timeout: answerWithinMs });
    return reply.json<HealthReply>();
  } finally {
    await connection.close();
  }
}
