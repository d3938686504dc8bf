/** Calls as a workload makes them: to the addresses it has, unaware of any proxy. */
import { connect } from "node:net";

const answerWithinMs = 5_000;

/** The body of the answer, its status when that is not 200, or `closed`. */
export async function get(address: string, port: number, host: string, path = "/"): Promise<string> {
  const answer = await exchange(address, port, `GET ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
  const [head = "", body = ""] = answer.split("\r\n\r\n", 2);
  const status = /^HTTP\/1\.1 (\d+)/.exec(head)?.[1];
  return status === undefined ? "closed" : status === "200" ? body.trim() : status;
}

/** The line that the callee answers with, or `closed`. */
export async function say(address: string, port: number): Promise<string> {
  return (await exchange(address, port, "hello\n")).trim() || "closed";
}

function exchange(host: string, port: number, text: string): Promise<string> {
  return new Promise((resolve) => {
    let answer = "";
    const socket = connect({ host, port }, () => socket.write(text));
    socket.setEncoding("utf8");
    socket.setTimeout(answerWithinMs, () => socket.destroy());
    socket.on("data", (chunk: string) => {
      answer += chunk;
    });
    // A connection that is reset has what came before.
    socket.on("error", () => socket.destroy());
    socket.on("close", () => resolve(answer));
  });
}
