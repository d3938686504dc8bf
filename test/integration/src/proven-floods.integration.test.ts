/**
 * Floods by a caller with a good certificate of the mesh, on every port that takes one: 15012, 15013 and, with WEBHOOK_CLIENT_CA_FILE, 15017.
 * The attacked processes are those of `flotilla up`. While each flood goes on, another workload's requests over connections of their own are
 * answered, and the process does not grow without bound; the latencies are printed.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { openLocalIssuer } from "@flotilla/auth";
import { requestCertificate, type TlsMaterial } from "@flotilla/auth/serving";
import { allReady, type ControlPlane, startControlPlane } from "@flotilla/cli/testing";
import { aggregatedDiscoveryService, certificateService, create, encode, typeUrl } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { DeltaDiscoveryRequestSchema } from "@flotilla/proto/envoy/service/discovery/v3/discovery_pb";
import { until } from "@flotilla/runtime";
import { freePorts } from "@flotilla/servers";
import {
  type AttackResult,
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
import { type PluggedInRoot, plugInRoot } from "./ports/plugged-in-root.ts";

const soon = (what: string) => ({ withinMs: 60_000, what, everyMs: 50 });
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
  let plane: ControlPlane;
  let root: PluggedInRoot;
  let [attacker, other]: [TlsMaterial, TlsMaterial] = [undefined as never, undefined as never];

  before(async () => {
    const directory = join(workDir, "cacerts");
    root = await plugInRoot(directory);
    const settings = {
      ...{ LOG_LEVEL: "silent", ROOT_CA_DIR: directory },
      WEBHOOK_CLIENT_CA_FILE: join(directory, "root-cert.pem"),
    };
    const options = {
      ...{ workDir, config: undefined, mesh: undefined, networks: undefined, embedded: false },
      ...{ firstPort: await freePorts(12), settings },
    };
    plane = owned.use(await startControlPlane({ options, logs: "files", onProgress: () => undefined }));
    await allReady(plane, 90_000, () => undefined, stop.signal);
    const certificateOf = async (serviceAccount: string): Promise<TlsMaterial> => {
      const token = await (await openLocalIssuer(workDir)).mintToken({ namespace: "shop", serviceAccount });
      return certificate(plane.layout.ports.ca, { token });
    };
    await until(() => certificateOf("web").then(Boolean, () => false), soon("certificates"));
    attacker = await certificateOf("web");
    other = await certificateOf("other");
    for (const { ask } of ports) await ask();
  });
  after(async () => {
    stop.abort();
    await owned.disposeAsync();
    rmSync(workDir, { recursive: true, force: true });
  });

  function certificate(port: number, proof: Parameters<typeof requestCertificate>[0]["proof"]): Promise<TlsMaterial> {
    const at = { address: `127.0.0.1:${port}`, serverName: "istiod.istio-system.svc", rootsPem: root.rootsPem };
    return requestCertificate({ ...at, proof, names: [], keyType: "ecdsa-p256", ttlMs: 3_600_000 });
  }

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

  /** A review over a connection of its own. */
  async function review(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
    const body = JSON.stringify({
      ...{ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview" },
      request: { uid: "1", operation: "CREATE", object: { kind: "Pod", apiVersion: "v1", metadata: {}, spec: {} } },
    });
    const proof = { key: other.keyPem, cert: other.chainPem, rejectUnauthorized: false, agent: false };
    const options = { method: "POST", headers: { "content-type": "application/json" }, ...proof };
    request(`https://127.0.0.1:${plane.layout.ports.webhook}/validate`, options, (response) => {
      response.resume().once("end", () => resolve(response.statusCode));
    })
      .once("error", reject)
      .end(body);
    assert.equal(await promise, 200);
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
        await certificate(plane.layout.ports.ca, { current: other });
      },
    },
    // It speaks HTTP/1.1 only: frames of HTTP/2 are no requests.
    {
      port: "webhook",
      service: "webhook",
      path: "/validate",
      message: Buffer.alloc(0),
      ask: review,
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
          if (flood.endsConnection !== false || port === "webhook")
            assert.notEqual(result.end, "taken", JSON.stringify(result));
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
