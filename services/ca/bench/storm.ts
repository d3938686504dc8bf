/**
 * Everybody comes back at once: connections of their own, a token and a request on each, all opened in the same moment. One
 * JSON line: how long until all were served, how long ca's event loop stood still, and what memory it took.
 * `node services/ca/bench/storm.ts [connections] [requests on each]`.
 */
import { type ClientHttp2Session, connect } from "node:http2";
import { openLocalIssuer } from "@flotilla/auth";
import { buildCsr, csrPem, generatePrivateKey } from "@flotilla/pki";
import { certificateService, create } from "@flotilla/proto";
import { IstioCertificateRequestSchema } from "@flotilla/proto/security/v1alpha1/ca_pb";
import { metricsOf, startCa } from "./ca-process.ts";

const connections = Number(process.argv[2] ?? 3000);
const each = Number(process.argv[3] ?? 4);
const { createCertificate } = certificateService;

await using ca = await startCa("rsa-2048");
const issuer = await openLocalIssuer(ca.workDir);
const message = createCertificate.requestSerialize(
  create(IstioCertificateRequestSchema, {
    csr: csrPem(buildCsr({ key: await generatePrivateKey("ecdsa-p256") })),
    validityDuration: 3600n,
  }),
);
/** A gRPC message: not compressed, its length in four bytes. */
const frame = Buffer.concat([Buffer.alloc(5), message]);
frame.writeUInt32BE(message.length, 1);
const tokens = await Promise.all(
  Array.from({ length: connections * each }, (_, i) =>
    issuer.mintToken({ namespace: "shop", serviceAccount: `w${i}` }),
  ),
);

await metricsOf(ca); // what was measured before does not count
const start = performance.now();
const waits: number[] = [];
const failures = new Map<string, number>();
const watching = new AbortController();
let peakRssMb = 0;
let longestMs = 0;
const watch = async (): Promise<void> => {
  while (!watching.signal.aborted) {
    const { rssMb, delayMaxMs } = await metricsOf(ca);
    peakRssMb = Math.max(peakRssMb, rssMb);
    longestMs = Math.max(longestMs, delayMaxMs);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
};
const watched = watch();
await Promise.all(Array.from({ length: connections }, (_, at) => oneConnection(at)));
const elapsed = (performance.now() - start) / 1000;
watching.abort();
await watched;
await new Promise((resolve) => setTimeout(resolve, 5000));
const after = await metricsOf(ca);
waits.sort((a, b) => a - b);
const line = {
  bench: "ca-storm",
  connections,
  requests: connections * each,
  served: waits.length,
  failures: Object.fromEntries(failures),
  seconds: Number(elapsed.toFixed(1)),
  p99Ms: Math.round(waits[Math.floor(waits.length * 0.99)] ?? 0),
  eventLoopLongestMs: longestMs,
  peakRssMb,
  rssAfterMb: after.rssMb,
};
process.stdout.write(`${JSON.stringify(line)}\n`);

async function oneConnection(at: number): Promise<void> {
  const session = connect(`https://127.0.0.1:${ca.grpc}`, { rejectUnauthorized: false });
  session.on("error", () => undefined);
  try {
    await Promise.all(Array.from({ length: each }, (_, i) => ask(session, String(tokens[at * each + i]))));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    failures.set(reason, (failures.get(reason) ?? 0) + 1);
  } finally {
    session.destroy();
  }
}

function ask(session: ClientHttp2Session, token: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const stream = session.request({
    ":method": "POST",
    ":path": createCertificate.path,
    "content-type": "application/grpc",
    te: "trailers",
    authorization: `Bearer ${token}`,
  });
  stream.on("error", reject);
  stream.on("trailers", (trailers) => {
    if (trailers["grpc-status"] !== "0") return reject(new Error(`gRPC status ${trailers["grpc-status"]}`));
    waits.push(performance.now() - start);
    resolve();
  });
  stream.on("response", (headers) => {
    if (headers["grpc-status"] !== undefined) reject(new Error(`gRPC status ${headers["grpc-status"]}`));
  });
  stream.on("close", () => reject(new Error("closed without an answer")));
  stream.resume();
  stream.end(frame);
  return promise;
}
