import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectPlain } from "node:net";
import { describe, it } from "node:test";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import { parseCertificatePem } from "@flotilla/pki";
import {
  type CompliancePolicy,
  createMetrics,
  type Logger,
  noopLogger,
  type TlsPolicy,
  until,
} from "@flotilla/runtime";
import type { ConnectionInjector } from "@grpc/grpc-js";
import { createAuthority } from "./authority.fixture.ts";
import { droppedConnections, type GrpcTlsOptions, serveGrpcTls } from "./grpc-tls.ts";

const [authority, stranger] = [await createAuthority("mesh"), await createAuthority("other")];
const within = { withinMs: 5_000 };

async function setUp(more: Partial<GrpcTlsOptions> = {}) {
  const lines: string[] = [];
  const injected: TLSSocket[] = [];
  const ends: string[] = [];
  const log: Logger = { ...noopLogger, warn: (event, fields) => void lines.push(`${event} ${fields?.["reason"]}`) };
  const injector = {
    injectConnection: (socket: TLSSocket) => void injected.push(socket.on("error", () => undefined)),
    drain: (ms: number) => void ends.push(`drain ${ms}`),
    destroy: () => void ends.push("destroy"),
  } as unknown as ConnectionInjector;
  const metrics = createMetrics();
  const tls = await serveGrpcTls({
    server: { createConnectionInjector: () => injector },
    material: await authority.material(["a.test"]),
    ...{ host: "127.0.0.1", port: 0, setting: "X", drainMs: 20 },
    ...{ log, dropped: droppedConnections(metrics), ...more },
  });
  const clients: TLSSocket[] = [];
  /** Resolves when the handshake is finished on this side. */
  const dial = async (options: ConnectionOptions = {}): Promise<TLSSocket> => {
    const where = { port: tls.port, host: "127.0.0.1", ca: authority.rootPem, servername: "a.test" };
    const client = connect({ ...where, ALPNProtocols: ["h2"], ...options });
    clients.push(client);
    await once(client, "secureConnect");
    client.on("error", () => undefined).resume();
    return client;
  };
  return {
    ...{ tls, lines, injected, ends, dial, metrics },
    [Symbol.asyncDispose]: async () => {
      for (const client of clients) client.destroy();
      await tls[Symbol.asyncDispose]();
    },
  };
}

const chacha = { tlsCipherSuites: ["TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"] };

/** Handshakes under each policy: what a client offers, and the protocol and suite that are agreed on; undefined: it is refused. */
const handshakes: readonly [
  CompliancePolicy | TlsPolicy,
  ConnectionOptions,
  readonly [protocol: string, suite: string] | undefined,
][] = [
  ["", {}, ["TLSv1.3", "TLS_AES_256_GCM_SHA384"]],
  ["fips-140-2", {}, ["TLSv1.2", "ECDHE-ECDSA-AES128-GCM-SHA256"]],
  ["fips-140-2", { minVersion: "TLSv1.3" }, undefined],
  ["fips-140-2", { ciphers: "ECDHE-ECDSA-CHACHA20-POLY1305" }, undefined],
  ["fips-140-2", { ecdhCurve: "X25519" }, undefined],
  ["fips-140-3", {}, ["TLSv1.3", "TLS_AES_128_GCM_SHA256"]],
  ["fips-140-3", { maxVersion: "TLSv1.2", ecdhCurve: "P-384:P-256" }, ["TLSv1.2", "ECDHE-ECDSA-AES128-GCM-SHA256"]],
  ["fips-140-3", { ciphers: "TLS_CHACHA20_POLY1305_SHA256", minVersion: "TLSv1.3" }, undefined],
  ["pqc", { ecdhCurve: "X25519MLKEM768" }, ["TLSv1.3", "TLS_AES_128_GCM_SHA256"]],
  ["pqc", { ecdhCurve: "X25519" }, undefined],
  ["pqc", { maxVersion: "TLSv1.2" }, undefined],
  [{ tlsMinVersion: "1.3" }, { maxVersion: "TLSv1.2" }, undefined],
  [{ tlsMinVersion: "1.3" }, {}, ["TLSv1.3", "TLS_AES_256_GCM_SHA384"]],
  [chacha, { maxVersion: "TLSv1.2" }, ["TLSv1.2", "ECDHE-ECDSA-CHACHA20-POLY1305"]],
  [chacha, { maxVersion: "TLSv1.2", ciphers: "ECDHE-ECDSA-AES128-GCM-SHA256" }, undefined],
  [chacha, {}, ["TLSv1.3", "TLS_AES_256_GCM_SHA384"]],
  // As in istiod, the policy decides alone.
  [{ compliancePolicy: "fips-140-2", tlsMinVersion: "1.3" }, {}, ["TLSv1.2", "ECDHE-ECDSA-AES128-GCM-SHA256"]],
];

describe("COMPLIANCE_POLICY, TLS_MIN_VERSION and TLS_CIPHER_SUITES", () => {
  for (const [given, offer, expected] of handshakes)
    it(`${JSON.stringify(given)}, a client with ${JSON.stringify(offer)}: ${expected?.join(" ") ?? "refused"}`, async () => {
      await using it = await setUp({ policy: typeof given === "string" ? { compliancePolicy: given } : given });
      it.tls.reload(await authority.material(["a.test"]));
      const agreed = it.dial(offer).then((client) => [client.getProtocol(), client.getCipher().name]);
      if (expected === undefined) await assert.rejects(agreed, { code: /^ERR_SSL/ });
      else assert.deepEqual(await agreed, expected);
    });
});

describe("TLS in front of gRPC", () => {
  it("passes on a connection with a certificate of the mesh, or without any", async () => {
    await using it = await setUp();
    const { keyPem: key, chainPem: cert } = await authority.material(["b.test"]);
    assert.equal((await it.dial({ key, cert })).alpnProtocol, "h2");
    await until(() => it.injected.length === 1, { ...within, what: "the first" });
    await it.dial();
    await until(() => it.injected.length === 2, { ...within, what: "the second" });
    const shown = it.injected.map((socket) => socket.getPeerCertificate().raw);
    assert.deepEqual(shown, [parseCertificatePem(cert).der, undefined]);
    assert.deepEqual(it.lines, []);
    const [first = assert.fail()] = it.injected;
    assert.equal(first.getPeerCertificate(), first.getPeerCertificate(), "parsed once");
  });

  it("closes a connection whose certificate leads to another root, or is over", async () => {
    await using it = await setUp();
    const pairs = [
      await stranger.material(["b.test"]),
      await authority.material(["b.test"], { notAfterMs: Date.now() - 2_000 }),
    ];
    for (const { keyPem: key, chainPem: cert } of pairs) {
      const client = await it.dial({ key, cert });
      await until(() => client.destroyed, { ...within, what: "the end of the connection" });
    }
    assert.equal(it.injected.length, 0);
    assert.match(it.lines[0] ?? "", /^client certificate refused .*UNABLE_TO_VERIFY_LEAF_SIGNATURE/);
    assert.match(it.lines[1] ?? "", /^client certificate refused .*CERT_HAS_EXPIRED/);
  });

  it("shows new connections the certificate that it was given last, and keeps the old ones", async () => {
    await using it = await setUp();
    const first = await it.dial();
    const next = await authority.material(["a.test"]);
    it.tls.reload(next);
    const second = await it.dial();
    assert.deepEqual(second.getPeerCertificate().raw, parseCertificatePem(next.chainPem).der);
    assert.deepEqual([first.destroyed, second.destroyed], [false, false]);
  });

  it("takes no TLS below 1.2", async () => {
    await using it = await setUp();
    const old = { minVersion: "TLSv1.1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" } as const;
    await assert.rejects(it.dial(old), /alert protocol version|unsupported protocol/i);
  });

  it("counts connections that speak something else, and logs the first of them", async () => {
    await using it = await setUp();
    const { port } = it.tls;
    for (let i = 0; i < 2; i++) {
      const client = connectPlain({ port, host: "127.0.0.1" });
      client.write("GET / HTTP/1.1\r\n\r\n");
      await once(
        client.resume().on("error", () => undefined),
        "close",
      );
    }
    assert.deepEqual(it.lines, ["connection closed before its TLS handshake not_tls"]);
    assert.match(await it.metrics.text(), /flotilla_tls_connections_dropped_total\{reason="not_tls"\} 2/);
  });

  it("a handshake that has finished makes room for the next one at once", async () => {
    await using it = await setUp({ limits: { maxStarting: 1, startingMs: 60_000 } });
    for (let i = 0; i < 3; i++) await it.dial();
    assert.equal((await it.dial()).destroyed, false);
  });

  it("ends: calls are drained, then open and half-open connections are closed", async () => {
    await using it = await setUp();
    const open = await it.dial();
    const silent = connectPlain({ port: it.tls.port, host: "127.0.0.1" }).on("error", () => undefined);
    await once(silent, "connect");
    await it.tls[Symbol.asyncDispose]();
    assert.deepEqual(it.ends, ["drain 20", "destroy"]);
    await until(() => open.destroyed && silent.destroyed, { ...within, what: "the ends of both" });
  });

  it("needs a free port", async () => {
    await using it = await setUp();
    await assert.rejects(setUp({ port: it.tls.port }), { code: "PORT_IN_USE" });
  });
});
