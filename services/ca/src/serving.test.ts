/** Certificates of our own services: asked for as by any workload, renewed, and put to use while connections stay open. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { connect } from "node:tls";
import { obtainServingCertificate, serveGrpcTls, type TlsMaterial } from "@flotilla/auth/serving";
import { parseCertificatePem } from "@flotilla/pki";
import { until } from "@flotilla/runtime";
import { Server } from "@grpc/grpc-js";
import { serverName, startCa } from "./main.fixture.ts";

const ca = await startCa();
const { rootsPem, mint, lines, log, workDir } = ca;
after(() => ca[Symbol.asyncDispose]());

describe("serving certificates", () => {
  it("are obtained once the CA is there, renewed in time, and reloaded without dropping connections", async () => {
    const tokenFile = join(workDir, "token");
    const server = new Server();
    const serials: string[] = [];
    const listening = Promise.withResolvers<Awaited<ReturnType<typeof serveGrpcTls>>>();
    const options = {
      caAddress: `127.0.0.1:${ca.grpc}`,
      caServerName: serverName,
      rootFile: join(workDir, "root-cert.pem"),
      token: () => readFile(tokenFile, "utf8"),
      names: ["istiod.istio-system.svc", "localhost"],
      ttlMs: 2000,
      log,
      onRenewed: async (material: TlsMaterial) => {
        serials.push(parseCertificatePem(material.chainPem).serial);
        (await listening.promise).reload(material);
      },
    };
    const obtaining = obtainServingCertificate(options, ca.stop);
    await until(
      () =>
        lines.some(({ msg, reason }) => msg === "waiting for a serving certificate" && /no token/.test(String(reason))),
      { withinMs: 30_000, what: "the wait" },
    );
    await writeFile(tokenFile, await mint("istio-system", "flotilla-xds-server"));
    await using certificate = await obtaining;
    assert.deepEqual(
      parseCertificatePem(certificate.material.chainPem).sans.map(({ value }) => value),
      ["spiffe://cluster.local/ns/istio-system/sa/flotilla-xds-server", ...options.names],
    );
    await using tls = await serveGrpcTls({
      server,
      material: certificate.material,
      host: "127.0.0.1",
      port: 0,
      setting: "X",
      log,
      drainMs: 50,
    });
    listening.resolve(tls);
    const dial = () => {
      const socket = connect({
        port: tls.port,
        host: "127.0.0.1",
        ca: rootsPem,
        servername: "localhost",
        ALPNProtocols: ["h2"],
      });
      const open = Promise.withResolvers<string>();
      socket.once("secureConnect", () =>
        open.resolve(BigInt(`0x${socket.getPeerCertificate().serialNumber}`).toString(16)),
      );
      socket.once("error", open.reject);
      return { socket, serial: open.promise };
    };
    const first = dial();
    const firstSerial = await first.serial;
    await until(() => serials.length > 0, { withinMs: 30_000, what: "a renewal" });
    const second = dial();
    const secondSerial = await second.serial;
    assert.notEqual(firstSerial, secondSerial);
    assert.equal(first.socket.destroyed, false);
    first.socket.destroy();
    second.socket.destroy();
  });
});
