/** xds-server shows a certificate that somebody else writes into files, takes a new one over, and keeps open connections. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { connect, type TLSSocket } from "node:tls";
import { openLocalIssuer } from "@flotilla/auth";
import { requestCertificate } from "@flotilla/auth/serving";
import { allReady, type ControlPlane, startControlPlane } from "@flotilla/cli/testing";
import {
  certificatePem,
  encodePem,
  generatePrivateKey,
  issueLeaf,
  issueRoot,
  issuerOf,
  parseCertificatePem,
  privateKeyPem,
  spkiOf,
} from "@flotilla/pki";
import { until } from "@flotilla/runtime";
import { freePorts } from "@flotilla/servers";

const serverName = "istiod.istio-system.svc";
const times = { notBeforeMs: Date.now() - 60_000, notAfterMs: Date.now() + 3_600_000 };

describe("a serving certificate from files", () => {
  const workDir = mkdtempSync(join(tmpdir(), "flotilla-files-"));
  const files = { cert: join(workDir, "serving.crt"), key: join(workDir, "serving.key") };
  const owned = new AsyncDisposableStack();
  let plane: ControlPlane;
  let foreignRoot = "";

  /** As a signer of somebody else's does. */
  async function createPair(): Promise<(serial: number) => void> {
    const key = await generatePrivateKey("ecdsa-p256");
    const root = issueRoot({ serial: Buffer.of(1), subject: { organization: "other" }, ...times }, key);
    foreignRoot = certificatePem(root);
    return (serial) => {
      const sans = [{ type: "dns", value: serverName } as const];
      const leaf = issueLeaf({ serial: Buffer.of(serial), spki: spkiOf(key), sans, ...times }, issuerOf(root, key));
      for (const [file, text] of [
        [files.key, privateKeyPem(key)],
        [files.cert, encodePem("CERTIFICATE", leaf)],
      ] as const) {
        writeFileSync(`${file}.new`, text, { mode: 0o600 });
        renameSync(`${file}.new`, file);
      }
    };
  }

  function handshake(): Promise<TLSSocket> {
    const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>();
    const at = { host: "127.0.0.1", port: plane.layout.ports.xdsTls, servername: serverName };
    const socket = connect({ ...at, ca: foreignRoot, ALPNProtocols: ["h2"] }, () => resolve(socket));
    socket.once("error", reject);
    return promise;
  }
  async function shownSerial(): Promise<string> {
    const socket = await handshake();
    const { raw } = socket.getPeerCertificate();
    socket.destroy();
    return parseCertificatePem(encodePem("CERTIFICATE", raw)).serial;
  }

  let write: (serial: number) => void;
  before(async () => {
    write = await createPair();
    write(2);
    const options = {
      ...{ workDir, config: undefined, mesh: undefined, networks: undefined },
      embedded: true,
      firstPort: await freePorts(12),
      settings: { LOG_LEVEL: "silent", TLS_CERT_FILE: files.cert, TLS_KEY_FILE: files.key },
    };
    plane = owned.use(await startControlPlane({ options, logs: "files", onProgress: () => undefined }));
    await allReady(plane, 90_000, () => undefined, new AbortController().signal);
    const isOpen = () =>
      shownSerial().then(
        () => true,
        () => false,
      );
    await until(isOpen, { withinMs: 60_000, what: "the secure port to open" });
  });
  after(async () => {
    await owned.disposeAsync();
    rmSync(workDir, { recursive: true, force: true });
  });

  it("is shown, while certificates for workloads still come from ca", async () => {
    assert.equal(Number.parseInt(await shownSerial(), 16), 2);
    const token = await (await openLocalIssuer(workDir)).mintToken({ namespace: "shop", serviceAccount: "web" });
    const address = `127.0.0.1:${plane.layout.ports.xdsTls}`;
    const call = {
      address,
      serverName,
      rootsPem: foreignRoot,
      names: [],
      keyType: "ecdsa-p256",
      ttlMs: 60_000,
    } as const;
    const { rootsPem } = await requestCertificate({ ...call, proof: { token } });
    assert.equal(rootsPem, readFileSync(join(workDir, "root-cert.pem"), "utf8"));
  });

  it("is replaced for new connections; those that are open stay", async () => {
    const open = await handshake();
    let isClosed = false;
    open.once("close", () => {
      isClosed = true;
    });
    write(3);
    const isNew = async () => Number.parseInt(await shownSerial(), 16) === 3;
    await until(isNew, { withinMs: 60_000, what: "the new certificate" });
    assert.equal(isClosed, false);
    open.destroy();
  });

  it("stays in force while the files do not fit together", async () => {
    writeFileSync(files.key, "rubbish");
    await new Promise((resolve) => setTimeout(resolve, 1500));
    assert.equal(Number.parseInt(await shownSerial(), 16), 3);
  });
});
