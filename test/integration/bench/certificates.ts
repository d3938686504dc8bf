/**
 * `pnpm bench:certificates [NUMBER…]`: a router with many certificates. How long a new Envoy takes until all its filter chains have theirs, and what
 * certificates cost in the memory of xds-server. Real NATS, Redis and Envoy, services as processes.
 */
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { openLocalIssuer } from "@flotilla/auth";
import { allReady, type ControlPlane, startControlPlane } from "@flotilla/cli/testing";
import { delay } from "@flotilla/runtime";
import { freePort, freePorts } from "@flotilla/servers";
import { createTestAuthority, type KeyPair } from "@flotilla/testkit";
import { startSdsEnvoy } from "../src/secrets/sds-envoy.ts";

const account = { namespace: "edge", serviceAccount: "edge" };
const stop = new AbortController();
/** Keys of RSA take long to make: certificates share them. */
const distinctKeys = 20;
const runs = 3;
/** After this, nothing of a change is under way, and what it took is given back (`releaseWhenQuiet`). */
const settleMs = 20_000;
const counts = process.argv.length > 2 ? process.argv.slice(2).map(Number) : [620, 2_000];

const names = (count: number) => Array.from({ length: count }, (_, index) => `cert-${index}`);

async function writeCertificates(config: string, count: number, pairs: readonly KeyPair[]): Promise<void> {
  const base64 = (text = "") => Buffer.from(text).toString("base64");
  const objects = names(count).flatMap((name, index) => {
    const { certificatePem, keyPem } = pairs[index % pairs.length] ?? { certificatePem: "", keyPem: "" };
    const data = { "tls.crt": base64(certificatePem), "tls.key": base64(keyPem) };
    return [
      { apiVersion: "v1", kind: "Secret", metadata: { name, namespace: "edge" }, data },
      {
        apiVersion: "networking.istio.io/v1",
        kind: "Gateway",
        metadata: { name, namespace: "edge" },
        spec: {
          selector: { app: "elsewhere" },
          servers: [
            {
              port: { number: 443, name: "https", protocol: "HTTPS" },
              hosts: [`${name}.example`],
              tls: { mode: "SIMPLE", credentialName: name },
            },
          ],
        },
      },
    ];
  });
  writeFileSync(join(config, ".all"), objects.map((object) => JSON.stringify(object)).join("\n---\n"));
  renameSync(join(config, ".all"), join(config, "all.yaml"));
}

function memoryMb(plane: ControlPlane): number {
  const { pid } = plane.services.find(({ name }) => name === "xds-server") ?? {};
  const [, kb = "0"] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kb) / 1024;
}

interface Router {
  readonly workDir: string;
  readonly plane: ControlPlane;
  readonly certificates: number;
  readonly delta: boolean;
}

interface Started {
  /** From the start of an Envoy until it is ready. */
  readonly tookMs: number;
  /** RSS of xds-server with it. */
  readonly heldMb: number;
  readonly mostMb: number;
  /** Of its heap and its buffers, as in use. */
  readonly usedMb: number;
}

/** Of the introspection pages of xds-server. */
const introspectionPort = await freePort();

async function usedMb(): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${introspectionPort}/memory`);
  const { heapUsed, external } = (await answer.json()) as { readonly heapUsed: number; readonly external: number };
  return (heapUsed + external) / 2 ** 20;
}

async function startRouter({ workDir, plane, certificates, delta }: Router): Promise<Started> {
  const issuer = await openLocalIssuer(workDir);
  const own = { name: `edge-${certificates}`, ...account, labels: {}, address: "127.0.0.1" };
  const node = { type: "router", ...own } as const;
  const secure = {
    address: `127.0.0.1:${plane.layout.ports.xdsTls}`,
    rootFile: join(workDir, "root-cert.pem"),
    token: await issuer.mintToken(account),
  };
  const chains = names(certificates).map((name) => ({ host: `${name}.example`, certificate: `kubernetes://${name}` }));
  const listener = { port: await freePort(), chains };
  let mostMb = 0;
  const looking = setInterval(() => {
    mostMb = Math.max(mostMb, memoryMb(plane));
  }, 50);
  const began = performance.now();
  await using envoy = await startSdsEnvoy({ directory: join(workDir, "envoys"), node, delta, secure, listener });
  await envoy.ready(300_000);
  const tookMs = performance.now() - began;
  await delay(settleMs, stop.signal);
  clearInterval(looking);
  return { tookMs, heldMb: memoryMb(plane), mostMb, usedMb: await usedMb() };
}

async function main(): Promise<void> {
  const [workDir, config] = ["bench-certificates-", "bench-config-"].map((name) => mkdtempSync(join(tmpdir(), name)));
  if (workDir === undefined || config === undefined) throw new Error("no work directory");
  await using owned = new AsyncDisposableStack();
  owned.defer(() => {
    for (const directory of [workDir, config]) rmSync(directory, { recursive: true, force: true });
  });
  const authority = await createTestAuthority();
  const pairs = await Promise.all(
    Array.from({ length: distinctKeys }, () => authority.keyPair({ algorithm: "rsa-2048" })),
  );
  await writeCertificates(config, 1, pairs);
  const settings = { ...(process.env as Record<string, string>), INTROSPECTION_PORT: String(introspectionPort) };
  const options = { embedded: false, config, mesh: undefined, networks: undefined, settings, workDir };
  const firstPort = await freePorts(12);
  const plane = owned.use(
    await startControlPlane({ options: { ...options, firstPort }, logs: "files", onProgress: () => undefined }),
  );
  await allReady(plane, 90_000, () => undefined, stop.signal);
  const one = await startRouter({ workDir, plane, certificates: 1, delta: true });
  const before = one.heldMb;
  process.stdout.write(
    `load ${loadavg()[0]?.toFixed(1)}, xds-server with one certificate: ${before.toFixed(0)} MB, ${one.usedMb.toFixed(0)} MB in use\n`,
  );
  for (const certificates of counts) {
    await writeCertificates(config, certificates, pairs);
    // Until all Secrets have come.
    await startRouter({ workDir, plane, certificates, delta: true });
    for (const delta of [false, true]) {
      const found: Started[] = [];
      for (let run = 0; run < runs; run++) found.push(await startRouter({ workDir, plane, certificates, delta }));
      const times = found.map(({ tookMs }) => `${(tookMs / 1000).toFixed(2)} s`).join(", ");
      const more = (of: (one: Started) => number) =>
        found.map((one) => `${(of(one) - before).toFixed(0)} MB`).join(", ");
      const [held, most] = [more(({ heldMb }) => heldMb), more(({ mostMb }) => mostMb)];
      const label = `${certificates} certificates, ${delta ? "delta" : "sotw"}`;
      const load = loadavg()[0]?.toFixed(1);
      const used = found.map((started) => `${(started.usedMb - one.usedMb).toFixed(0)} MB`).join(", ");
      process.stdout.write(
        `${label}: ready in ${times}; more memory: ${held}, in use: ${used}; at most: ${most}; load ${load}\n`,
      );
    }
  }
  stop.abort();
}

await main();
