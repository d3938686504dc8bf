/** A back end that takes whatever comes: answers HTTP with its name, anything else with a line. */
import { createServer } from "node:net";

/** Closed with the process. @throws when the address is taken */
export function serveAnything(name: string, address: string, port: number): Promise<void> {
  const server = createServer((socket) => {
    socket.on("error", () => socket.destroy());
    socket.once("data", (data) => {
      const isHttp = /^[A-Z]+ \S+ HTTP\/1/.test(data.toString("latin1"));
      const head = `HTTP/1.1 200 OK\r\ncontent-length: ${name.length}\r\nconnection: close\r\n\r\n`;
      socket.end(isHttp ? `${head}${name}` : `tcp ${name}\n`);
    });
  });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, address, resolve);
  });
}
