/** Starts gRPC programs without a proxy: the Node library's, in child processes, and what they need to find the control plane. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { KeyPair } from "@flotilla/testkit";
import type { Answers, CallRequest, FromProgram } from "./program.ts";

export interface ProgramIdentity {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly locality?: { readonly region: string; readonly zone: string };
  /** For mutual TLS. */
  readonly certificate?: KeyPair & { readonly rootPem: string };
}

export const namespace = "demo";

/** Writes the files of a program into a folder. @returns its environment */
export function writeBootstrap(
  directory: string,
  xdsPort: number,
  { name, labels, locality, certificate }: ProgramIdentity,
): NodeJS.ProcessEnv {
  const folder = join(directory, name);
  mkdirSync(folder, { recursive: true });
  const file = (fileName: string, text: string) => {
    writeFileSync(join(folder, fileName), text);
    return join(folder, fileName);
  };
  const config = certificate && {
    certificate_file: file("cert-chain.pem", certificate.certificatePem),
    private_key_file: file("key.pem", certificate.keyPem),
    ca_certificate_file: file("root-cert.pem", certificate.rootPem),
    refresh_interval: "1s",
  };
  const bootstrap = {
    xds_servers: [
      { server_uri: `127.0.0.1:${xdsPort}`, channel_creds: [{ type: "insecure" }], server_features: ["xds_v3"] },
    ],
    node: {
      id: `sidecar~127.0.0.1~${name}.${namespace}~${namespace}.svc.cluster.local`,
      locality: locality ?? {},
      metadata: {
        ...{ GENERATOR: "grpc", NAMESPACE: namespace, CLUSTER_ID: "Kubernetes", INSTANCE_IPS: "127.0.0.1" },
        LABELS: labels,
      },
    },
    server_listener_resource_name_template: "xds.istio.io/grpc/lds/inbound/%s",
    ...(config && { certificate_providers: { default: { plugin_name: "file_watcher", config } } }),
  };
  return { ...process.env, GRPC_XDS_BOOTSTRAP: file("bootstrap.json", JSON.stringify(bootstrap)) };
}

export interface NodeClient extends AsyncDisposable {
  call(target: string, request?: Partial<CallRequest>): Promise<Answers>;
}

export function startNodeClient(env: NodeJS.ProcessEnv): NodeClient {
  const child = start(env, "call");
  return {
    call: async (target, request = {}) => {
      const message: CallRequest = {
        target,
        method: "/demo.Echo/Say",
        count: 1,
        headers: {},
        secure: false,
        ...request,
      };
      child.send(message);
      const [reply] = (await once(child, "message")) as [FromProgram];
      if (!("answers" in reply)) throw new Error(`unexpected message of a client: ${JSON.stringify(reply)}`);
      return reply.answers;
    },
    [Symbol.asyncDispose]: () => stop(child),
  };
}

/** Resolves when the server listens; its first configuration may come later. */
export async function startNodeServer(env: NodeJS.ProcessEnv, name: string, address: string): Promise<AsyncDisposable> {
  const child = start(env, "serve", name, address);
  await once(child, "message");
  return { [Symbol.asyncDispose]: () => stop(child) };
}

function start(env: NodeJS.ProcessEnv, ...args: readonly string[]): ChildProcess {
  return fork(fileURLToPath(new URL("program.ts", import.meta.url)), args, { env });
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}
