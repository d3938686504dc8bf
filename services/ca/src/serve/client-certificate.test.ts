import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import {
  certificatePem,
  generatePrivateKey,
  issueRoot,
  parseCertificatesPem,
  privateKeyPem,
  verifyChain,
} from "@flotilla/pki";
import { createLogger, noopLogger } from "@flotilla/runtime";
import { main } from "../main.ts";
import { MeshTrust } from "../mesh/mesh-trust.ts";
import { diskStore } from "../roots/self-signed-store.ts";
import { readSettings } from "../settings.ts";
import { writeFirstClientCertificate } from "./client-certificate.ts";

const directory = mkdtempSync(join(tmpdir(), "ca-client-"));
after(() => rmSync(directory, { recursive: true }));

function setup(name: string) {
  const own = join(directory, name);
  mkdirSync(join(own, "cacerts"), { recursive: true });
  const config = readSettings({
    ...{ WORK_DIR: own, ROOT_CA_DIR: join(own, "cacerts"), ROOT_CA_NEXT_DIR: join(own, "next") },
    ...{ CLIENT_CERTIFICATE_DIR: join(own, "client"), CA_SELF_SIGNED_KEY: "ecdsa-p256" },
  });
  const lines: string[] = [];
  const log = createLogger("ca", "info", { write: (line) => void lines.push(line) });
  const trust = new MeshTrust({ trustDomain: undefined, aliases: [], file: join(own, "mesh.json"), log: noopLogger });
  const store = diskStore(config.selfSignedDir);
  const certificates = (file: string) => parseCertificatesPem(readFileSync(join(own, "client", file), "utf8"));
  return { own, config, parts: { trust, store, log }, store, certificates, text: () => lines.join("") };
}

describe("the certificate that ca connects to NATS with, before it knows the mesh", () => {
  it("is of the root in use, and trusts the root that a rotation goes over to", async () => {
    const { config, parts, store, certificates } = setup("rotating");
    const root = { keyType: "ecdsa-p256", ttlMs: config.selfSignedTtlMs, trustDomain: "cluster.local" } as const;
    const inUse = parseCertificatesPem((await store.open(root, Date.now())).rootsPem);
    const toCome = parseCertificatesPem((await store.makeNext(root, Date.now())).rootsPem);
    await writeFirstClientCertificate(config, parts);
    const [leaf, ...intermediates] = certificates("tls.crt");
    assert.ok(leaf !== undefined);
    verifyChain({ leaf, intermediates, roots: inUse, nowMs: Date.now(), usage: "client" });
    assert.ok(leaf.sans.some(({ value }) => value === "flotilla-ca.istio-system.svc"));
    const trusted = certificates("ca.crt").map(({ serial }) => serial);
    assert.deepEqual(trusted.sort(), [...inUse, ...toCome].map(({ serial }) => serial).sort());
  });

  it("can be had from material of a trust domain that is published over NATS", async () => {
    const { own, config, parts, certificates } = setup("plugged-in");
    const key = await generatePrivateKey("ecdsa-p256");
    const times = { notBeforeMs: Date.now() - 60_000, notAfterMs: Date.now() + 3_600_000 };
    const sans = [{ type: "uri", value: "spiffe://mesh.example" } as const];
    const root = issueRoot({ serial: Buffer.alloc(16, 3), subject: { organization: "x" }, sans, ...times }, key);
    for (const file of ["ca-cert.pem", "root-cert.pem"])
      writeFileSync(join(own, "cacerts", file), certificatePem(root));
    writeFileSync(join(own, "cacerts/ca-key.pem"), privateKeyPem(key), { mode: 0o600 });
    await writeFirstClientCertificate(config, parts);
    assert.deepEqual(
      certificates("ca.crt").map(({ serial }) => serial),
      [root.serial],
    );
  });

  it("waits for good material, and says so", async () => {
    const { own, config, parts, text } = setup("bad");
    writeFileSync(join(own, "cacerts/ca-key.pem"), "no key");
    await writeFirstClientCertificate(config, parts);
    assert.match(text(), /no certificate for the bus yet/);
    assert.equal(existsSync(join(own, "client")), false);
  });

  it("cannot be had from a root that lies behind the connection", async () => {
    const { own } = setup("bus");
    writeFileSync(join(own, "seal.key"), Buffer.alloc(32));
    const env = {
      ...{ WORK_DIR: own, CA_SELF_SIGNED_STORE: "bus", SEAL_KEY_FILE: join(own, "seal.key"), LOG_LEVEL: "silent" },
      ...{
        BUS_URL: `tls://127.0.0.1:1,tls://127.0.0.1:2?certificates=${own}/client`,
        CLIENT_CERTIFICATE_DIR: join(own, "client"),
      },
      ...{ HEALTH_HOST: "127.0.0.1", HEALTH_PORT: "0", CA_PORT: "0", KUBERNETES_SERVICE_HOST: "" },
    };
    await assert.rejects(main(env, AbortSignal.timeout(20_000)), /lies behind it/);
  });
});
