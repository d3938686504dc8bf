/**
 * A gRPC program without a proxy, in a process of its own, because its library reads one bootstrap a process. As a server it answers
 * with its name; as a client it calls targets for its parent and counts the answers.
 *
 *     node program.ts serve NAME ADDRESS
 *     node program.ts call
 */
import {
  type ChannelCredentials,
  Client,
  credentials,
  Metadata,
  ServerCredentials,
  type ServiceError,
  type sendUnaryData,
  status,
} from "@grpc/grpc-js";
import { register, XdsChannelCredentials, XdsServer, XdsServerCredentials } from "@grpc/grpc-js-xds";

export interface CallRequest {
  readonly target: string;
  readonly method: string;
  readonly count: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Mutual TLS where the control plane asks for it; otherwise plain text. */
  readonly secure: boolean;
}

/** How often each answer came: the name of a server, or `STATUS: details`. */
export type Answers = Readonly<Record<string, number>>;

export type FromProgram = { readonly serving: string } | { readonly answers: Answers };

const callDeadlineMs = 10_000;
const raw = (bytes: Buffer) => bytes;

register();
const [role, name = "", address = ""] = process.argv.slice(2);
if (role === "serve") serve(name, address);
else if (role === "call") process.on("message", (request) => void call(request as CallRequest));
process.on("disconnect", () => process.exit());

function serve(name: string, address: string): void {
  const server = new XdsServer();
  const answer = (_: unknown, callback: sendUnaryData<Buffer>) => callback(null, Buffer.from(name));
  const method = { requestStream: false, responseStream: false, requestSerialize: raw, responseSerialize: raw };
  const codecs = { ...method, requestDeserialize: raw, responseDeserialize: raw };
  server.addService(
    { Say: { path: "/demo.Echo/Say", ...codecs }, Hide: { path: "/demo.Echo/Hide", ...codecs } },
    { Say: answer, Hide: answer },
  );
  server.bindAsync(address, new XdsServerCredentials(ServerCredentials.createInsecure()), (error, port) => {
    if (error !== null) throw error;
    report({ serving: String(port) });
  });
}

const clients = new Map<string, Client>();

function clientOf({ target, secure }: CallRequest): Client {
  const key = `${target} ${secure}`;
  const plain: ChannelCredentials = credentials.createInsecure();
  const client = clients.get(key) ?? new Client(target, secure ? new XdsChannelCredentials(plain) : plain);
  clients.set(key, client);
  return client;
}

async function call(request: CallRequest): Promise<void> {
  const client = clientOf(request);
  const answers: Record<string, number> = {};
  for (let made = 0; made < request.count; made++) {
    const answer = await callOnce(client, request);
    answers[answer] = (answers[answer] ?? 0) + 1;
  }
  report({ answers });
}

function callOnce(client: Client, { method, headers }: CallRequest): Promise<string> {
  const metadata = new Metadata();
  for (const [key, value] of Object.entries(headers)) metadata.set(key, value);
  const options = { deadline: Date.now() + callDeadlineMs };
  return new Promise((resolve) => {
    const done = (error: ServiceError | null, reply?: Buffer) =>
      resolve(error === null ? String(reply) : `${status[error.code]}: ${error.details}`);
    client.makeUnaryRequest(method, raw, raw, Buffer.alloc(0), metadata, options, done);
  });
}

function report(message: FromProgram): void {
  process.send?.(message);
}
