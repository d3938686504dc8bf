/**
 * grpc-go's interop programs, which gRPC itself is tested with: a client that calls without end and reports who answered, and servers
 * with a name. GRPC_INTEROP names the folder with the programs `client` and `server`.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { BinaryReader, BinaryWriter } from "@bufbuild/protobuf/wire";
import { Client, credentials } from "@grpc/grpc-js";

/** False, or why the programs cannot run. */
export function missingInterop(folder: string | undefined): false | string {
  if (folder === undefined) return "GRPC_INTEROP names no folder: grpc-go was NOT tested";
  const isThere = ["client", "server"].every((program) => existsSync(join(folder, program)));
  return isThere ? false : `GRPC_INTEROP=${folder} has no client and server: grpc-go was NOT tested`;
}

export interface InteropServerOptions {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly name: string;
  readonly port: number;
  /** Health and the like, where the server's own port demands TLS. */
  readonly maintenancePort: number;
  readonly secure: boolean;
}

export function startInteropServer(options: InteropServerOptions): AsyncDisposable {
  const { folder, env, name, port, maintenancePort, secure } = options;
  const args = [`-port=${port}`, `-maintenance_port=${maintenancePort}`, `-host_name_override=${name}`];
  const child = spawn(join(folder, "server"), [...args, `-secure_mode=${secure}`], { env, stdio: "ignore" });
  return { [Symbol.asyncDispose]: () => stop(child) };
}

export interface InteropClientOptions {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  /** `xds:///host:port`. */
  readonly target: string;
  readonly statsPort: number;
  readonly secure: boolean;
}

export interface InteropClient extends AsyncDisposable {
  /** The servers that answered the next calls, and how many calls failed. */
  answers(calls: number): Promise<InteropAnswers>;
  /** From now on the calls are of this method, with these headers. */
  configure(method: InteropMethod, headers?: Readonly<Record<string, string>>): Promise<void>;
}

export type InteropMethod = "UnaryCall" | "EmptyCall";

export interface InteropAnswers {
  readonly byServer: Readonly<Record<string, number>>;
  readonly failed: number;
}

const callsPerSecond = 100;
const statsTimeoutS = 20;

export function startInteropClient(options: InteropClientOptions): InteropClient {
  const { folder, env, target, statsPort, secure } = options;
  const args = [`-server=${target}`, `-stats_port=${statsPort}`, `-qps=${callsPerSecond}`, "-rpc_timeout=5s"];
  const child = spawn(join(folder, "client"), [...args, `-secure_mode=${secure}`], { env, stdio: "ignore" });
  const control = new Client(`127.0.0.1:${statsPort}`, credentials.createInsecure());
  const ask = (path: string, request: Uint8Array): Promise<Uint8Array> =>
    new Promise((resolve, reject) => {
      const deadline = Date.now() + 2_000 * statsTimeoutS;
      const raw = (bytes: Uint8Array) => Buffer.from(bytes);
      control.waitForReady(deadline, (notReady) => {
        if (notReady !== undefined) return reject(notReady);
        control.makeUnaryRequest(path, raw, raw, request, { deadline }, (error, reply) =>
          error === null ? resolve(reply ?? new Uint8Array()) : reject(error),
        );
      });
    });
  return {
    answers: async (calls) => {
      const request = new BinaryWriter().tag(1, 0).int32(calls).tag(2, 0).int32(statsTimeoutS).finish();
      return parseAnswers(await ask("/grpc.testing.LoadBalancerStatsService/GetClientStats", request));
    },
    configure: async (method, headers = {}) => {
      await ask("/grpc.testing.XdsUpdateClientConfigureService/Configure", configureRequest(method, headers));
    },
    [Symbol.asyncDispose]: async () => {
      control.close();
      await stop(child);
    },
  };
}

const methodNumbers: Readonly<Record<InteropMethod, number>> = { EmptyCall: 0, UnaryCall: 1 };

/** Fields: 1 methods, 2 headers (1 method, 2 key, 3 value). */
function configureRequest(method: InteropMethod, headers: Readonly<Record<string, string>>): Uint8Array {
  const number = methodNumbers[method];
  const writer = new BinaryWriter().tag(1, 2).fork().int32(number).join();
  for (const [key, value] of Object.entries(headers)) {
    writer.tag(2, 2).fork().tag(1, 0).int32(number).tag(2, 2).string(key).tag(3, 2).string(value).join();
  }
  return writer.finish();
}

/** Fields: 1 map of server names to calls, 2 failed calls. */
function parseAnswers(bytes: Uint8Array): InteropAnswers {
  const reader = new BinaryReader(bytes);
  const byServer: Record<string, number> = {};
  let failed = 0;
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (field === 1) {
      const [name, calls] = parseEntry(reader.bytes());
      byServer[name] = calls;
    } else if (field === 2) failed = reader.int32();
    else reader.skip(type);
  }
  return { byServer, failed };
}

function parseEntry(bytes: Uint8Array): readonly [name: string, calls: number] {
  const reader = new BinaryReader(bytes);
  let [name, calls] = ["", 0];
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (field === 1) name = reader.string();
    else if (field === 2) calls = reader.int32();
    else reader.skip(type);
  }
  return [name, calls];
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}
