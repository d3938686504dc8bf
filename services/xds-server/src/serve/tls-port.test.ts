/** The TLS port: a client certificate or a token proves the caller, and the certificate changes while streams go on. */
import assert from "node:assert/strict";
import { connect as tcp } from "node:net";
import { after, before, describe, it } from "node:test";
import type { Authenticator } from "@flotilla/auth";
import { create, typeUrl as types } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { until } from "@flotilla/runtime";
import { openIdle } from "@flotilla/testkit";
import { XdsClient } from "@flotilla/xds/client";
import { grpcTransport } from "@flotilla/xds/grpc";
import { credentials } from "@grpc/grpc-js";
import type { AdsTlsPort } from "./ads-server.ts";
import { certificatePem, keyPem } from "./testing/test-certificate.ts";
import { startTestServer, type TestServer } from "./testing/test-server.ts";

const material = { keyPem, chainPem: certificatePem, rootsPem: certificatePem };
const pem = { key: Buffer.from(keyPem), certificate: Buffer.from(certificatePem) };
const soon = (what: string) => ({ withinMs: 30_000, what, everyMs: 2 });

const authenticator: Authenticator = {
  name: "test",
  authenticate: async ({ peerCertificate, metadata }) => {
    const proof = peerCertificate !== undefined ? "certificate" : metadata.get("authorization")?.[0];
    if (proof === undefined) return { authenticated: false, reason: "nothing shown" };
    return {
      authenticated: true,
      authenticator: "test",
      identities: [`spiffe://td/ns/shop/sa/${proof.replace("Bearer ", "")}`],
    };
  },
};

describe("tls port", () => {
  let server: TestServer;
  let port: AdsTlsPort;

  before(async () => {
    server = await startTestServer();
    server.source.put(types.cluster, []);
    const at = { port: 0, host: "127.0.0.1", setting: "TEST_TLS_PORT", material };
    port = await server.ads.serveTls(at, { authenticator, mode: "required" });
  });
  after(async () => {
    await port[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  async function connect(
    shows: "certificate" | "token" | "nothing",
  ): Promise<{ answered: boolean; error: unknown; identities: readonly string[] }> {
    const stop = new AbortController();
    let answered = false;
    let error: unknown;
    const [key, chain] = shows === "certificate" ? [pem.key, pem.certificate] : [null, null];
    const tls = credentials.createSsl(pem.certificate, key, chain, { checkServerIdentity: () => undefined });
    const client = new XdsClient({
      form: "delta",
      node: create(NodeSchema, { id: "sidecar~10.0.0.1~a.shop~shop.svc.cluster.local" }),
      transport: grpcTransport({
        address: `localhost:${port.port}`,
        tls,
        ...(shows === "token" && { token: "token" }),
      }),
      backoffMs: () => 60_000,
      onUpdate: () => {
        answered = true;
      },
      onConnection: (event, cause) => {
        if (event === "ended") error = cause;
      },
    });
    client.subscribe(types.cluster);
    const running = client.run(stop.signal);
    await until(() => answered || error !== undefined, soon("an answer or an end"));
    const identities = server.connected.list()[0]?.identities ?? [];
    stop.abort();
    await running;
    await until(() => server.connected.list().length === 0, soon("the stream to end"));
    return { answered, error, identities };
  }

  for (const shows of ["certificate", "token"] as const) {
    it(`serves a caller that shows a ${shows}`, async () => {
      const { answered, identities } = await connect(shows);
      assert.equal(answered, true);
      assert.deepEqual(identities, [`spiffe://td/ns/shop/sa/${shows}`]);
    });
  }

  it("refuses a caller that shows nothing", async () => {
    const { answered, error } = await connect("nothing");
    assert.equal(answered, false);
    assert.equal((error as { code: number }).code, 16);
  });

  it("silent connections keep no honest caller waiting", { timeout: 20_000 }, async () => {
    using _silent = await openIdle(() => tcp(port.port, "127.0.0.1"), 1_500);
    const since = performance.now();
    assert.equal((await connect("token")).answered, true);
    const waitedMs = performance.now() - since;
    // 32 at a time that make room after 100 ms would keep it waiting for 4.7 s.
    assert.ok(waitedMs < 3_000, `it waited for ${Math.round(waitedMs)} ms`);
  });

  it("goes on with a new certificate", async () => {
    port.reload(material);
    assert.equal((await connect("token")).answered, true);
  });
});
