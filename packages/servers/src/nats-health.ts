/**
 * Whether a NATS server can write its streams. nats-server 2.15 never writes to a stream again that it failed to write once, also after there
 * is room on the disk: it answers reads, keeps its connections, and shows the failure in its health check only, until it is restarted.
 */
import { connect } from "node:net";

/** The one user of the system account, who may ask for the server's health and sees no stream. */
export interface HealthUser {
  readonly name: string;
  readonly password: string;
}

interface HealthReply {
  readonly data?: { readonly status_code?: number; readonly error?: string };
}

const question = "$SYS.REQ.SERVER.PING.HEALTHZ";
const inbox = "_INBOX.health";
const answerWithinMs = 2_000;

/** Lines for the configuration of the server: an account beside the one that holds the streams. */
export function healthAccount({ name, password }: HealthUser): string {
  return `accounts { SYS { users: [{ user: ${JSON.stringify(name)}, password: ${JSON.stringify(password)} }] } }\nsystem_account: SYS`;
}

/**
 * What the server's health check reports; undefined while all is well. A server that gives no answer reports nothing: whether it runs at all
 * is for its launcher to see.
 */
export function natsHealth(port: number, { name, password }: HealthUser): Promise<string | undefined> {
  return new Promise((done) => {
    const socket = connect({ host: "127.0.0.1", port });
    const end = (problem: string | undefined): void => {
      socket.destroy();
      done(problem);
    };
    socket.setTimeout(answerWithinMs, () => end(undefined));
    socket.once("error", () => end(undefined)).once("close", () => done(undefined));
    const options = JSON.stringify({ user: name, pass: password, verbose: false, pedantic: false });
    socket.once("connect", () =>
      socket.write(`CONNECT ${options}\r\nSUB ${inbox} 1\r\nPUB ${question} ${inbox} 2\r\n{}\r\n`),
    );
    let text = "";
    socket.on("data", (bytes) => {
      text += bytes.toString("utf8");
      const reply = replyIn(text);
      if (reply !== undefined) end(problemOf(reply));
    });
  });
}

/** The payload of the first whole message: `MSG subject id length`, a line break, the payload, a line break. */
function replyIn(text: string): string | undefined {
  const head = /(?:^|\r\n)MSG \S+ \S+ +(\d{1,7})\r\n/.exec(text);
  if (head === null) return undefined;
  const payload = Buffer.from(text.slice(head.index + head[0].length));
  const length = Number(head[1]);
  return payload.length < length ? undefined : payload.subarray(0, length).toString("utf8");
}

function problemOf(reply: string): string | undefined {
  const { data } = JSON.parse(reply) as HealthReply;
  return data === undefined || data.status_code === 200 ? undefined : (data.error ?? `status ${data.status_code}`);
}
