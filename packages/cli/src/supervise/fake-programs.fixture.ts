/**
 * Small programs in place of the services and servers of a control plane. A service answers its health page and shows its environment; all of
 * them end by SIGTERM, and services with the process that started them.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type ServiceName, services } from "../layout.ts";

interface FakePrograms extends Disposable {
  readonly directory: string;
  /** Settings by which they are started instead of the real ones. */
  readonly settings: Readonly<Record<string, string>>;
  /** Another program for a service: the text of a CommonJS module. */
  replace(service: ServiceName, text: string): void;
}

const ends = `for (const event of ["SIGTERM", "disconnect"]) process.on(event, () => process.exit(0));\n`;

/** `FAKE_ENDS` names services that end by themselves. */
const service = `${ends}
const name = require("node:path").basename(require("node:path").join(__dirname, ".."));
if ((process.env.FAKE_ENDS ?? "").split(",").includes(name)) process.exit(3);
require("node:http").createServer((request, response) => {
  const page = { service: name, pid: process.pid, ready: true, conditions: [] };
  response.end(JSON.stringify(request.url === "/environment" ? process.env : page));
}).listen(Number(process.env.HEALTH_PORT), "127.0.0.1");
`;

/** Listens on the port that follows `--port`, and answers everything as a Redis answers PING. */
const server = `#!${process.execPath}
${ends}
require("node:net").createServer((socket) => {
  socket.on("error", () => {});
  socket.on("data", () => socket.write("+PONG\\r\\n"));
}).listen(Number(process.argv[process.argv.indexOf("--port") + 1]), "127.0.0.1");
`;

export function fakePrograms(): FakePrograms {
  const directory = mkdtempSync(join(tmpdir(), "flotilla-programs-"));
  const replace = (name: ServiceName, text: string) => {
    const file = join(directory, "services", name, "bin/main.js");
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  };
  for (const name of services) replace(name, service);
  const binary = join(directory, "server");
  writeFileSync(binary, server, { mode: 0o755 });
  return {
    ...{ directory, replace },
    settings: { FLOTILLA_TEST_BUNDLE: directory, NATS_SERVER_BIN: binary, REDIS_SERVER_BIN: binary },
    [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }),
  };
}
