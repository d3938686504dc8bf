/**
 * Certificates per second over mTLS gRPC: ca in a process of its own, many callers here, each with one request in flight.
 * One JSON line for each kind of proof and key. `node services/ca/bench/grpc.ts [seconds] [callers]`.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { openLocalIssuer } from "@flotilla/auth";
import { requestCertificate, type TlsMaterial } from "@flotilla/auth/serving";
import { buildCsr, csrPem, generatePrivateKey, type KeyAlgorithm } from "@flotilla/pki";
import { certificateService, channelOptions, create } from "@flotilla/proto";
import { IstioCertificateRequestSchema } from "@flotilla/proto/security/v1alpha1/ca_pb";
import { Client, credentials, Metadata } from "@grpc/grpc-js";
import { metricsOf, type RunningCa, startCa } from "./ca-process.ts";

const seconds = Number(process.argv[2] ?? 5);
const callers = Number(process.argv[3] ?? 200);
const serverName = "istiod.istio-system.svc";
const { createCertificate } = certificateService;

async function bench(
  ca: RunningCa,
  caKey: KeyAlgorithm,
  csrKey: KeyAlgorithm,
  proof: "certificate" | "token",
): Promise<void> {
  const rootsPem = await readFile(join(ca.workDir, "root-cert.pem"), "utf8");
  const token = await (await openLocalIssuer(ca.workDir)).mintToken({ namespace: "shop", serviceAccount: "reviews" });
  const address = `127.0.0.1:${ca.grpc}`;
  const current = await requestCertificate({
    address,
    serverName,
    rootsPem,
    proof: { token },
    names: [],
    keyType: "ecdsa-p256",
    ttlMs: 3_600_000,
  });
  const clients = Array.from({ length: callers }, () =>
    clientOf(address, rootsPem, proof === "certificate" ? current : undefined),
  );
  const metadata = new Metadata();
  if (proof === "token") metadata.set("authorization", `Bearer ${token}`);
  const request = create(IstioCertificateRequestSchema, {
    csr: csrPem(buildCsr({ key: await generatePrivateKey(csrKey) })),
    validityDuration: 3600n,
  });
  const one = (client: Client): Promise<number> => {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const start = performance.now();
    client.makeUnaryRequest(
      createCertificate.path,
      createCertificate.requestSerialize,
      (bytes) => bytes,
      request,
      metadata,
      (error) => (error === null ? resolve(performance.now() - start) : reject(error)),
    );
    return promise;
  };
  await Promise.all(clients.map(one)); // handshakes are not what is measured
  const before = await metricsOf(ca);
  const start = performance.now();
  const waits: number[] = [];
  await Promise.all(
    clients.map(async (client) => {
      while (performance.now() - start < seconds * 1000) waits.push(await one(client));
    }),
  );
  const elapsed = (performance.now() - start) / 1000;
  const end = await metricsOf(ca);
  for (const client of clients) client.close();
  waits.sort((a, b) => a - b);
  const at = (part: number): number => Math.round(waits[Math.floor(waits.length * part)] ?? 0);
  const line = {
    bench: "ca-grpc",
    ca: caKey,
    csr: csrKey,
    proof,
    callers,
    perSecond: Math.round(waits.length / elapsed),
    perServerCpuSecond: Math.round(waits.length / (end.cpuSeconds - before.cpuSeconds)),
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    rssMb: end.rssMb,
    eventLoopP99Ms: end.delayP99Ms,
  };
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

function clientOf(address: string, rootsPem: string, current: TlsMaterial | undefined): Client {
  const pair = current === undefined ? [] : [Buffer.from(current.keyPem), Buffer.from(current.chainPem)];
  return new Client(address, credentials.createSsl(Buffer.from(rootsPem), ...pair), {
    ...channelOptions,
    "grpc.ssl_target_name_override": serverName,
    "grpc.use_local_subchannel_pool": 1,
  });
}

for (const caKey of ["rsa-2048", "ecdsa-p256"] as const) {
  await using ca = await startCa(caKey);
  for (const csrKey of ["rsa-2048", "ecdsa-p256"] as const)
    for (const proof of ["certificate", "token"] as const) await bench(ca, caKey, csrKey, proof);
}
