/** A revoked certificate is worth nothing on any port: not for a new one, not for a stream, and streams that it opened end. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { openLocalIssuer } from "@flotilla/auth";
import { type CaCall, requestCertificate, type TlsMaterial } from "@flotilla/auth/serving";
import { allReady, type ControlPlane, startControlPlane } from "@flotilla/cli/testing";
import { create, typeUrl } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { until } from "@flotilla/runtime";
import { freePorts } from "@flotilla/servers";
import { XdsClient } from "@flotilla/xds/client";
import { grpcTransport } from "@flotilla/xds/grpc";
import { credentials, status } from "@grpc/grpc-js";
import { type PluggedInRoot, plugInRoot } from "./ports/plugged-in-root.ts";

const soon = (what: string) => ({ withinMs: 60_000, what, everyMs: 50 });
const codeOf = (error: unknown): unknown => (error as { cause?: { code?: unknown } }).cause?.code;

describe("a revoked certificate", () => {
  const workDir = mkdtempSync(join(tmpdir(), "flotilla-revocation-"));
  const stop = new AbortController();
  const owned = new AsyncDisposableStack();
  let plane: ControlPlane;
  let root: PluggedInRoot;
  let token: string;
  let [stolen, honest]: [TlsMaterial, TlsMaterial] = [undefined as never, undefined as never];

  before(async () => {
    const directory = join(workDir, "cacerts");
    root = await plugInRoot(directory);
    const options = {
      ...{ workDir, config: undefined, mesh: undefined, networks: undefined },
      embedded: true,
      firstPort: await freePorts(12),
      settings: { LOG_LEVEL: "silent", ROOT_CA_DIR: directory, CA_MATERIAL_POLL_INTERVAL: "50ms" },
    };
    plane = owned.use(await startControlPlane({ options, logs: "files", onProgress: () => undefined }));
    await allReady(plane, 90_000, () => undefined, stop.signal);
    token = await (await openLocalIssuer(workDir)).mintToken({ namespace: "shop", serviceAccount: "web" });
    await until(() => ask({ token }).then(Boolean, () => false), soon("the secure port to open"));
    stolen = await ask({ token });
    honest = await ask({ token });
  });
  after(async () => {
    stop.abort();
    await owned.disposeAsync();
    rmSync(workDir, { recursive: true, force: true });
  });

  function ask(proof: CaCall["proof"], port = plane.layout.ports.xdsTls): Promise<TlsMaterial> {
    const { rootsPem } = root;
    const at = { address: `127.0.0.1:${port}`, serverName: "istiod.istio-system.svc", rootsPem };
    return requestCertificate({ ...at, proof, names: [], keyType: "ecdsa-p256", ttlMs: 3_600_000 });
  }
  const refusalOf = (proof: CaCall["proof"], port?: number) => ask(proof, port).then(() => "issued", codeOf);

  /** A stream over the secure port: the code it ended with, once it did. */
  function open({ keyPem, chainPem }: TlsMaterial) {
    const state: { isAnswered: boolean; code: unknown } = { isAnswered: false, code: undefined };
    const pems = [root.rootsPem, keyPem, chainPem].map((text) => Buffer.from(text));
    const tls = credentials.createSsl(pems[0] as Buffer, pems[1], pems[2], { checkServerIdentity: () => undefined });
    const client = new XdsClient({
      form: "delta",
      node: create(NodeSchema, { id: "sidecar~10.0.0.1~web.shop~shop.svc.cluster.local" }),
      transport: grpcTransport({ address: `localhost:${plane.layout.ports.xdsTls}`, tls }),
      backoffMs: () => 60_000,
      onUpdate: () => {
        state.isAnswered = true;
      },
      onConnection: (event, cause) => {
        if (event === "ended") state.code ??= (cause as { code?: unknown }).code;
      },
    });
    client.subscribe(typeUrl.cluster);
    const running = client.run(stop.signal);
    owned.defer(() => running);
    return state;
  }

  it("gets none through either port, opens no stream, and the one it opened ends; others go on", async () => {
    assert.equal(await refusalOf({ current: stolen }), "issued");
    const [before, other] = [open(stolen), open(honest)];
    await until(() => before.isAnswered && other.isAnswered, soon("both streams to be answered"));

    root.revoke(stolen.chainPem);
    await until(() => before.code !== undefined, soon("the stream of the revoked certificate to end"));
    assert.equal(before.code, status.UNAUTHENTICATED);
    for (const port of [plane.layout.ports.xdsTls, plane.layout.ports.ca])
      assert.equal(await refusalOf({ current: stolen }, port), status.UNAUTHENTICATED, `port ${port}`);
    const again = open(stolen);
    await until(() => again.code !== undefined, soon("a new stream to be refused"));
    assert.deepEqual([again.code, again.isAnswered], [status.UNAUTHENTICATED, false]);

    assert.equal(await refusalOf({ current: honest }), "issued");
    assert.equal(await refusalOf({ token }), "issued");
    assert.equal(other.code, undefined);
  });

  it("counts again when its list is withdrawn", async () => {
    root.revoke();
    await until(async () => (await refusalOf({ current: stolen })) === "issued", soon("a certificate"));
  });
});
