/**
 * The secure port alone is enough for a workload: certificates by token and by certificate through it, for the caller
 * alone.
 */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { openLocalIssuer } from "@flotilla/auth";
import { type CaCall, requestCertificate, type TlsMaterial } from "@flotilla/auth/serving";
import { allReady, type ControlPlane, startControlPlane } from "@flotilla/cli/testing";
import { parseCertificatePem } from "@flotilla/pki";
import { until } from "@flotilla/runtime";
import { freePorts } from "@flotilla/servers";
import { Client, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";

const identity = "spiffe://cluster.local/ns/shop/sa/web";

describe("the secure port", () => {
  const workDir = mkdtempSync(join(tmpdir(), "flotilla-secure-"));
  const stop = new AbortController();
  const owned = new AsyncDisposableStack();
  let plane: ControlPlane;
  let rootsPem: string;
  let token: string;

  before(async () => {
    const options = {
      ...{ workDir, config: undefined, mesh: undefined, networks: undefined },
      embedded: true,
      firstPort: await freePorts(12),
      settings: { LOG_LEVEL: "silent" },
    };
    plane = owned.use(await startControlPlane({ options, logs: "files", onProgress: () => undefined }));
    await allReady(plane, 90_000, () => undefined, stop.signal);
    rootsPem = readFileSync(join(workDir, "root-cert.pem"), "utf8");
    token = await (await openLocalIssuer(workDir)).mintToken({ namespace: "shop", serviceAccount: "web" });
    await until(
      () =>
        ask({ token }).then(
          () => true,
          () => false,
        ),
      { withinMs: 60_000, what: "the secure port to open" },
    );
  });
  after(async () => {
    await owned.disposeAsync();
    rmSync(workDir, { recursive: true, force: true });
  });

  function ask(proof: CaCall["proof"], port = plane.layout.ports.xdsTls): Promise<TlsMaterial> {
    const address = `127.0.0.1:${port}`;
    const serverName = "istiod.istio-system.svc";
    return requestCertificate({
      address,
      serverName,
      rootsPem,
      proof,
      names: [],
      keyType: "ecdsa-p256",
      ttlMs: 60_000,
    });
  }
  const identityOf = ({ chainPem }: TlsMaterial) => parseCertificatePem(chainPem).sans.map(({ value }) => value);

  /** A call without a body worth the name: only who may call is looked at. */
  function bare(headers: Readonly<Record<string, string>>, port = plane.layout.ports.xdsTls): Promise<ServiceError> {
    const client = new Client(`127.0.0.1:${port}`, credentials.createSsl(Buffer.from(rootsPem)), {
      "grpc.ssl_target_name_override": "istiod.istio-system.svc",
      "grpc.use_local_subchannel_pool": 1,
    });
    const metadata = new Metadata();
    for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
    const raw = (bytes: Buffer): Buffer => bytes;
    const path = "/istio.v1.auth.IstioCertificateService/CreateCertificate";
    return new Promise((resolve, reject) =>
      client.makeUnaryRequest(path, raw, raw, Buffer.alloc(0), metadata, (error) => {
        client.close();
        if (error === null) reject(new Error("a certificate was issued"));
        else resolve(error);
      }),
    );
  }

  it("hands a token on to ca, and a certificate too", async () => {
    const first = await ask({ token });
    assert.deepEqual(identityOf(first), [identity]);
    assert.deepEqual(identityOf(await ask({ current: first })), [identity]);
  });

  for (const [name, headers] of [
    ["a caller that shows nothing", {}],
    ["a bad token", { authorization: "Bearer x.y.z" }],
    ["a name that the caller gives itself", { "x-forwarded-client-cert": `URI=${identity}` }],
  ] as const) {
    it(`${name} gets nothing`, async () => {
      const { code, details } = await bare(headers);
      assert.deepEqual([code, details], [16, "request authenticate failure"]);
    });
  }

  it("reports what ca says of a request it refuses", async () => {
    const { code, details } = await bare({ authorization: `Bearer ${token}` });
    assert.deepEqual([code, details], [3, "CSR parsing error"]);
  });
});
