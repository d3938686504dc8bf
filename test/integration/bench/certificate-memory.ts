/**
 * `pnpm bench:certificates`: what certificates cost in the memory of xds-server, and the time from a router's request for all of them
 * to the encoded answer and to that of one rotated certificate. The core alone, without sockets, after a collection of garbage.
 */
import { loadavg } from "node:os";
import { type Change, parseNode } from "@flotilla/model";
import { typeUrl } from "@flotilla/proto";
import { createTestAuthority, type KeyPair } from "@flotilla/testkit";
import { nameSet } from "@flotilla/xds";
import { Core } from "@flotilla/xds-server/core";

/** Keys of RSA take long to make: certificates share them, each with bytes of its own. */
const distinctKeys = 20;

const base64 = (text: string) => Buffer.from(text).toString("base64");

/** As it comes from the bus. */
function secretChange(name: string, { certificatePem, keyPem }: KeyPair): Change {
  const key = { kind: "Secret", namespace: "edge", name };
  const data = { "tls.crt": base64(certificatePem), "tls.key": base64(keyPem) };
  const value = { key, labels: {}, annotations: {}, creationTimeMs: 0, spec: { type: "kubernetes.io/tls", data } };
  return JSON.parse(JSON.stringify({ type: "config", op: "put", key, value })) as Change;
}

function usedMb(): number {
  for (let turn = 0; turn < 3; turn++) globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 2 ** 20;
}

const authority = await createTestAuthority();
const pairs = await Promise.all(
  Array.from({ length: distinctKeys }, () => authority.keyPair({ algorithm: "rsa-2048" })),
);
const pairOf = (index: number) => pairs[index % pairs.length] as KeyPair;
const router = parseNode({ id: "router~10.0.0.1~edge.edge~edge.svc.cluster.local", metadata: { NAMESPACE: "edge" } });

for (const count of [620, 2_000]) {
  const before = usedMb();
  const core = new Core();
  const names = Array.from({ length: count }, (_, index) => `cert-${index}`);
  core.apply(names.map((name, index) => secretChange(name, pairOf(index))));
  const began = performance.now();
  const asked = nameSet(names.map((name) => `kubernetes://${name}`));
  const observed = core.observe(core.subjectOf(router), typeUrl.secret, asked, () => undefined);
  const bytes = [...(observed?.value.byName.values() ?? [])].reduce((sum, one) => sum + one.bytes.length, 0);
  const firstMs = performance.now() - began;
  const memory = usedMb() - before;
  const rotated = performance.now();
  core.apply([secretChange("cert-7", pairOf(8))]);
  const isAgain = observed?.again();
  const rotatedMs = performance.now() - rotated;
  const load = loadavg()[0]?.toFixed(1);
  process.stdout.write(
    `${count} certificates (${(bytes / 2 ** 20).toFixed(1)} MB sent): ${firstMs.toFixed(0)} ms to the answer, ` +
      `${rotatedMs.toFixed(1)} ms for one rotated (${isAgain}), ${memory.toFixed(1)} MB, load ${load}\n`,
  );
  observed?.release();
}
