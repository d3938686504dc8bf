/**
 * Floods by a caller with a good certificate of the mesh, on every port that takes one: 15012, 15013 and, with WEBHOOK_CLIENT_CA_FILE, 15017.
 * The attacked processes are those of `flotilla up`. While each flood goes on, another workload's requests over connections of their own are
 * answered, and the process does not grow without bound; the latencies are printed.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { TlsMaterial } from "@flotilla/auth/serving";
import type { ControlPlane } from "@flotilla/cli/testing";
import { aggregatedDiscoveryService, certificateService, create, encode, typeUrl } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { DeltaDiscoveryRequestSchema } from "@flotilla/proto/envoy/service/discovery/v3/discovery_pb";
import {
  type AttackResult,
  assertBounded,
  attackAside,
  type FloodTarget,
  http2Floods,
  measureBeside,
  pipelinedRequests,
  sendFlood,
} from "@flotilla/testkit";
import { XdsClient } from "@flotilla/xds/client";
import { grpcTransport } from "@flotilla/xds/grpc";
import { credentials } from "@grpc/grpc-js";
import { type FloodedPlane, startFloodedPlane } from "./ports/flooded-plane.ts";
import type { PluggedInRoot } from "./ports/plugged-in-root.ts";

/** Most that a process may grow by under a flood that sends, or asks for, far more. */
const maxGrownMib = 256;

interface Port {
  readonly port: "xdsTls" | "ca" | "webhook";
  readonly service: string;
  readonly path: string;
  readonly message: Uint8Array;
  readonly alpn: readonly string[];
  /** A request of another workload, over a connection of its own. */
  readonly ask: () => Promise<void>;
}

describe("floods by a caller with a good certificate", { timeout: 400_000 }, () => {
  const workDir = mkdtempSync(join(tmpdir(), "flotilla-floods-"));
  const stop = new AbortController();
  const owned = new AsyncDisposableStack();
  let flooded: FloodedPlane;
  let plane: ControlPlane;
  let root: PluggedInRoot;
  let [attacker, other]: [TlsMaterial, TlsMaterial] = [undefined as never, undefined as never];

  before(async () => {
    flooded = owned.use(await startFloodedPlane(workDir, undefined, stop.signal));
    ({ plane, root } = flooded);
    attacker = await flooded.certificateOf("web");
    other = await flooded.certificateOf("other");
    for (const { ask } of ports) await ask();
  });
  after(async () => {
    stop.abort();
    await owned.disposeAsync();
    rmSync(workDir, { recursive: true, force: true });
  });

  /** A connection, a stream and its first answer. */
  async function openStream(): Promise<void> {
    const own = new AbortController();
    const answered = Promise.withResolvers<void>();
    const pems = [root.rootsPem, other.keyPem, other.chainPem].map((text) => Buffer.from(text));
    const tls = credentials.createSsl(pems[0] as Buffer, pems[1], pems[2], { checkServerIdentity: () => undefined });
    const client = new XdsClient({
      form: "delta",
      node: create(NodeSchema, { id: "sidecar~10.0.0.2~other.shop~shop.svc.cluster.local" }),
      transport: grpcTransport({ address: `localhost:${plane.layout.ports.xdsTls}`, tls }),
      backoffMs: () => 100,
      onUpdate: () => answered.resolve(),
    });
    client.subscribe(typeUrl.cluster);
    const running = client.run(own.signal);
    await Promise.race([answered.promise, running]);
    own.abort();
    await running;
  }

  const node = create(NodeSchema, { id: "sidecar~10.0.0.1~web.shop~shop.svc.cluster.local" });
  const ports: readonly Port[] = [
    {
      ...{ port: "xdsTls", service: "xds-server", ask: openStream, alpn: ["h2"] },
      path: aggregatedDiscoveryService.deltaAggregatedResources.path,
      message: encode(
        DeltaDiscoveryRequestSchema,
        create(DeltaDiscoveryRequestSchema, { node, typeUrl: typeUrl.listener }),
      ),
    },
    {
      ...{
        port: "ca",
        service: "ca",
        path: certificateService.createCertificate.path,
        message: Buffer.alloc(0),
        alpn: ["h2"],
      },
      ask: async () => {
        await flooded.certificate({ current: other });
      },
    },
    // It speaks HTTP/1.1 only: frames of HTTP/2 are no requests.
    {
      port: "webhook",
      service: "webhook",
      path: "/validate",
      message: Buffer.alloc(0),
      ask: () => flooded.review(other),
      alpn: ["http/1.1"],
    },
  ];

  for (const { port, service, path, message, ask, alpn } of ports) {
    const target = (): FloodTarget => ({
      ...{ port: plane.layout.ports[port], path, message, localAddress: "127.0.0.2", alpn },
      tls: { key: attacker.keyPem, cert: attacker.chainPem },
    });
    const underAttack = async (attack: string): Promise<AttackResult> => {
      const { pid = 0 } = plane.services.find((one) => one.name === service) ?? {};
      const flood = (answered: Promise<void>) => attackAside({ target: target(), attack }, answered);
      const { result, answeredMs, grownMib } = await measureBeside({ pid, flood, ask, atLeast: 5 });
      const slowest = Math.max(...answeredMs).toFixed(0);
      const text = `${answeredMs.length} answers, the slowest after ${slowest} ms, ${grownMib.toFixed(0)} MiB more`;
      console.log(`      ${service}, ${attack}: ${text}`);
      assert.ok(grownMib < maxGrownMib, `${grownMib} MiB`);
      assert.equal(plane.services.find((one) => one.name === service)?.pid, pid, "the process goes on");
      return result;
    };

    describe(`on the port of ${service}`, () => {
      for (const flood of port === "webhook" ? [...http2Floods, pipelinedRequests] : http2Floods)
        it(flood.name, { timeout: 120_000 }, async () => {
          const result = await underAttack(flood.name);
          assert.ok("end" in result);
          if (port === "webhook") assert.notEqual(result.end, "taken", JSON.stringify(result));
          else assertBounded(flood, result);
        });

      it("handshakes without end", { timeout: 120_000 }, async () => {
        const result = await underAttack("handshakes without end");
        assert.ok("done" in result && result.done > 0, JSON.stringify(result));
      });

      it("renegotiations of TLS 1.2", { timeout: 120_000 }, async () => {
        const result = await underAttack("renegotiations of TLS 1.2");
        assert.ok("done" in result && result.done <= 3, JSON.stringify(result));
      });
    });
  }

  it("the port of webhook agrees to no HTTP/2", async () => {
    const tls = { key: attacker.keyPem, cert: attacker.chainPem };
    const [flood] = http2Floods;
    assert.ok(flood !== undefined);
    const sending = sendFlood({ port: plane.layout.ports.webhook, path: "/validate", tls }, flood);
    await assert.rejects(sending, { code: "ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL" });
  });
});
