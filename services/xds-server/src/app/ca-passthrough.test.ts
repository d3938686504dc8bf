/** Certificate requests while ca is away, and when it is back: a real gRPC server behind TLS that comes and goes. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { serveGrpcTls } from "@flotilla/auth/serving";
import { certificateService } from "@flotilla/proto";
import { RawGrpcServer, unary } from "@flotilla/raw-grpc";
import { createMetrics, noopLogger, until } from "@flotilla/runtime";
import { freePort } from "@flotilla/servers";
import { Client, credentials, type ServiceError, status } from "@grpc/grpc-js";
import { servePlaintext } from "../serve/ads-server.ts";
import { connectionLimits, defaultAdsLimits } from "../serve/stream-context.ts";
import { certificatePem, keyPem } from "../serve/testing/test-certificate.ts";
import { createCaPassthrough } from "./ca-passthrough.ts";

const material = { keyPem, chainPem: certificatePem, rootsPem: certificatePem };
const { path } = certificateService.createCertificate;
const raw = (bytes: Buffer): Buffer => bytes;
const limits = connectionLimits(defaultAdsLimits);

function startCa(port: number) {
  const answer = unary(async () => Buffer.from("issued"), assert.ifError);
  const server = new RawGrpcServer({ ...limits, methods: new Map([[path, answer]]) });
  return serveGrpcTls({ host: "127.0.0.1", port, setting: "CA_PORT", server, material, log: noopLogger, drainMs: 0 });
}

async function startPassthrough(holdMs: number) {
  const caPort = await freePort();
  const owned = new AsyncDisposableStack();
  const certificates = {
    name: "none",
    authenticate: async () => ({ authenticated: false as const, reason: "no certificate" }),
  };
  const passthrough = owned.use(
    createCaPassthrough({
      ...{ caAddress: `127.0.0.1:${caPort}`, caServerName: "test", material, certificates, holdMs },
      ...{ metrics: createMetrics(), log: noopLogger },
    }),
  );
  const server = new RawGrpcServer({ ...limits, methods: passthrough.methods });
  const at = { host: "127.0.0.1", port: 0, setting: "TEST_PORT" };
  const port = owned.use(await servePlaintext({ ...at, server, drainMs: 0 }));
  const client = owned.adopt(new Client(`127.0.0.1:${port.port}`, credentials.createInsecure()), (it) => it.close());
  return {
    caPort,
    /** The answer to the request. */
    ask: () =>
      new Promise<string | ServiceError>((resolve) =>
        client.makeUnaryRequest(path, raw, raw, Buffer.alloc(0), (error, response) =>
          resolve(error ?? String(response)),
        ),
      ),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

describe("certificate requests through xds-server", () => {
  it("are kept for a moment while ca is away, and answered when it is back", { timeout: 20_000 }, async () => {
    await using it = await startPassthrough(10_000);
    const asked = it.ask();
    // Long enough for attempts that fail: the request is still open after one of them.
    assert.equal(await Promise.race([asked, new Promise((resolve) => setTimeout(resolve, 1_500, "open"))]), "open");
    await using _ca = await startCa(it.caPort);
    assert.equal(await asked, "issued");
  });

  it("fail in the end, by a status that states when to retry", async () => {
    await using it = await startPassthrough(300);
    const error = (await it.ask()) as ServiceError;
    assert.deepEqual([error.code, error.details], [status.UNAVAILABLE, "ca unreachable"]);
  });

  it("are kept up to a thousand at a time, the next fails at once", { timeout: 60_000 }, async () => {
    await using it = await startPassthrough(60_000);
    const asked = Array.from({ length: 1_001 }, () => it.ask());
    const first = (await Promise.race(asked)) as ServiceError;
    assert.deepEqual([first.code, first.details], [status.UNAVAILABLE, "ca unreachable"]);
    await using _ca = await startCa(it.caPort);
    const answers = await Promise.all(asked);
    assert.equal(answers.filter((answer) => answer === "issued").length, 1_000);
  });

  it("succeed within 2 s of its return after an outage with many failures", { timeout: 30_000 }, async () => {
    await using it = await startPassthrough(300);
    await using stack = new AsyncDisposableStack();
    const first = await startCa(it.caPort);
    assert.equal(await it.ask(), "issued");
    await first[Symbol.asyncDispose]();
    for (let i = 0; i < 12; i++) assert.equal(((await it.ask()) as ServiceError).code, status.UNAVAILABLE);
    stack.use(await startCa(it.caPort));
    await until(async () => (await it.ask()) === "issued", { withinMs: 30_000, what: "a certificate" });
  });
});
