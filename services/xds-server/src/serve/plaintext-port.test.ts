/** Keys and certificates, which a port without TLS does not give to callers, even with a token. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Authenticator } from "@flotilla/auth";
import { certificateService, create, typeUrl } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { until } from "@flotilla/runtime";
import { XdsClient } from "@flotilla/xds/client";
import { grpcTransport } from "@flotilla/xds/grpc";
import { Client, credentials, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { refusedCertificates } from "../app/ca-passthrough.ts";
import { Core } from "../app/core.ts";
import { createCoreSource } from "../app/core-source.ts";
import { applyOptionsOf } from "../testing/apply-options.ts";
import { aConfig, put } from "../testing/mesh.ts";
import type { AdsPort } from "./ads-server.ts";
import { certificatePem, keyPem } from "./testing/test-certificate.ts";
import { startTestServer, type TestServer } from "./testing/test-server.ts";

const soon = (what: string) => ({ withinMs: 30_000, what, everyMs: 2 });
const secretName = "kubernetes://pair";
const root = Buffer.from(certificatePem);

const authenticator: Authenticator = {
  name: "test",
  authenticate: async ({ metadata }) =>
    metadata.has("authorization")
      ? { authenticated: true, authenticator: "test", identities: ["spiffe://td/ns/shop/sa/web"] }
      : { authenticated: false, reason: "no token" },
};

describe("a port without TLS", () => {
  let server: TestServer;
  let [plain, secure]: [AdsPort, AdsPort] = [undefined as never, undefined as never];

  before(async () => {
    const source = createCoreSource(new Core());
    const changes = put(
      aConfig("Secret", "shop", "pair", { data: { "tls.crt": btoa("THE CHAIN"), "tls.key": btoa("THE KEY") } }),
      aConfig("DestinationRule", "shop", "elsewhere", {
        host: "elsewhere",
        workloadSelector: { matchLabels: { app: "web" } },
        trafficPolicy: { tls: { mode: "MUTUAL", credentialName: "pair" } },
      }),
    );
    source.apply(changes, applyOptionsOf(changes, 1));
    server = await startTestServer({ options: { source } });
    const at = { host: "127.0.0.1", port: 0, setting: "TEST_PORT" };
    plain = await server.ads.servePlaintext(at, { authenticator, mode: "offered" }, refusedCertificates);
    const material = { keyPem, chainPem: certificatePem, rootsPem: certificatePem };
    secure = await server.ads.serveTls({ ...at, material }, { authenticator, mode: "required" });
  });
  after(async () => {
    await plain[Symbol.asyncDispose]();
    await secure[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  /** Resolves to true if a caller with a token is sent the Secret, once it has its clusters. */
  async function getsSecret({ port }: AdsPort, isTls: boolean): Promise<boolean> {
    const stop = new AbortController();
    const tls = isTls && credentials.createSsl(root, null, null, { checkServerIdentity: () => undefined });
    const client = new XdsClient({
      form: "delta",
      node: create(NodeSchema, {
        id: "sidecar~10.0.0.1~web.shop~shop.svc.cluster.local",
        metadata: { NAMESPACE: "shop", LABELS: { app: "web" } },
      }),
      transport: grpcTransport({ address: `localhost:${port}`, token: "web", ...(tls && { tls }) }),
      backoffMs: () => 60_000,
      onUpdate: () => undefined,
    });
    client.subscribe(typeUrl.secret, [secretName]);
    client.subscribe(typeUrl.cluster);
    const running = client.run(stop.signal);
    const types = () => server.connected.list()[0]?.types();
    await until(() => types()?.get(typeUrl.cluster)?.acknowledged !== undefined, soon("clusters"));
    const sent = (types()?.get(typeUrl.secret)?.sent?.resources ?? 0) > 0;
    stop.abort();
    await running;
    await until(() => server.connected.list().length === 0, soon("the stream to end"));
    return sent;
  }

  it("sends no keys, where the one with TLS sends them to the same caller", async () => {
    assert.deepEqual([await getsSecret(plain, false), await getsSecret(secure, true)], [false, true]);
  });

  for (const authorization of ["", "Bearer web"]) {
    it(`gives no certificate to a caller ${authorization === "" ? "without" : "with"} a token`, async () => {
      const client = new Client(`localhost:${plain.port}`, credentials.createInsecure());
      const metadata = new Metadata();
      if (authorization !== "") metadata.set("authorization", authorization);
      const raw = (bytes: Buffer): Buffer => bytes;
      const { path } = certificateService.createCertificate;
      const { promise, resolve } = Promise.withResolvers<ServiceError | null>();
      client.makeUnaryRequest(path, raw, raw, Buffer.alloc(0), metadata, (error) => resolve(error));
      const error = await promise;
      client.close();
      assert.deepEqual([error?.code, error?.details], [status.UNAUTHENTICATED, "request authenticate failure"]);
    });
  }
});
