/** A certificate of ca that is delivered to files and by SDS, renewed, and watched for its renewal. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createAuthority, serverName, startCa } from "@flotilla/auth/testing";
import { parseCertificatePem } from "@flotilla/pki";
import { type Logger, noopLogger, until } from "@flotilla/runtime";
import { type KeepCertificateOptions, keepCertificate } from "./keep-certificate.ts";

const authority = await createAuthority();
const soon = (what: string) => ({ withinMs: 20_000, what, everyMs: 10 });

/** A ca that answers and a directory; the options of a certificate of both. */
async function setUp(more: Partial<KeepCertificateOptions> = {}, refusal?: number) {
  const directory = mkdtempSync(join(tmpdir(), "keep-"));
  const path = (name: string) => join(directory, name);
  const ca = await startCa(authority, ({ request }) => refusal ?? [authority.sign(request.csr), authority.rootPem]);
  writeFileSync(path("root.pem"), authority.rootPem);
  writeFileSync(path("token"), "t");
  const options: KeepCertificateOptions = {
    ...{ namespace: "shop", serviceAccount: "nats", ca: ca.address, caName: serverName },
    ...{ rootFile: path("root.pem"), tokenFile: path("token"), workDir: directory, names: ["nats.shop.svc"] },
    ...{ out: path("out"), sdsSocket: undefined, reloadPidFile: undefined, reloadRedis: undefined },
    ...{
      redisPasswordFile: undefined,
      servedBy: undefined,
      renewByFile: path("renew-by"),
      once: true,
      log: noopLogger,
    },
    ...more,
  };
  const end = async () => {
    await ca[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  };
  return { options, path, ca, [Symbol.asyncDispose]: end };
}

const never = new AbortController().signal;

describe("a certificate that is kept", () => {
  it("is written once, with the time by which the next one must come", async () => {
    await using it = await setUp();
    writeFileSync(it.path("renew-by"), "of an earlier process");
    await keepCertificate(it.options, never);
    const { sans, notAfterMs } = parseCertificatePem(readFileSync(it.path("out/tls.crt"), "utf8"));
    assert.deepEqual(
      sans.map(({ value }) => value),
      ["nats.shop.svc"],
    );
    const seconds = Number(readFileSync(it.path("renew-by"), "utf8"));
    const left = (notAfterMs - Date.now()) / 1_000;
    assert.ok(Math.abs(seconds - (Date.now() / 1_000 + left * 0.75)) < 60, String(seconds));
    assert.deepEqual(it.ca.calls[0]?.caller.metadata.get("authorization"), ["Bearer t"]);
  });

  it("is served by SDS alone where there is no directory", async () => {
    await using it = await setUp({ out: undefined, once: false });
    const stop = new AbortController();
    const kept = keepCertificate({ ...it.options, sdsSocket: it.path("sds") }, stop.signal);
    await until(() => existsSync(it.path("renew-by")), soon("the delivery"));
    assert.deepEqual([existsSync(it.path("sds")), existsSync(it.path("out"))], [true, false]);
    stop.abort(new Error("stopped"));
    await kept;
  });

  it("is delivered again when the roots change", async () => {
    await using it = await setUp({ once: false });
    const stop = new AbortController();
    const kept = keepCertificate(it.options, stop.signal);
    const read = () => (existsSync(it.path("out/tls.crt")) ? readFileSync(it.path("out/tls.crt"), "utf8") : "");
    const first = await until(read, soon("the first certificate"));
    writeFileSync(it.path("root.pem"), authority.rootPem.repeat(2));
    await until(() => read() !== first, soon("the next certificate"));
    stop.abort(new Error("stopped"));
    await kept;
  });

  it("is not delivered into a directory that cannot be made, which is logged", async () => {
    const errors: unknown[] = [];
    const log: Logger = { ...noopLogger, error: (text, fields) => void errors.push([text, fields?.["directory"]]) };
    await using it = await setUp({ log });
    writeFileSync(it.path("file"), "");
    await keepCertificate({ ...it.options, out: it.path("file/out") }, never);
    assert.deepEqual(errors, [["certificate not delivered", it.path("file/out")]]);
    assert.equal(existsSync(it.path("renew-by")), false);
  });

  it("is an error with the reason where ca refuses it and it is asked for once", async () => {
    // PERMISSION_DENIED
    await using it = await setUp({}, 7);
    await assert.rejects(keepCertificate(it.options, never), { code: "CLI_REFUSED" });
  });

  it("has no time of an earlier process while it waits for ca", async () => {
    await using it = await setUp({ once: false }, 14);
    writeFileSync(it.path("renew-by"), "of an earlier process");
    await assert.rejects(keepCertificate(it.options, AbortSignal.abort(new Error("stopped"))), /stopped/);
    assert.equal(existsSync(it.path("renew-by")), false);
  });

  it("is not waited for after the stop", async () => {
    await using it = await setUp({ ca: "127.0.0.1:1", once: false });
    await assert.rejects(keepCertificate(it.options, AbortSignal.timeout(50)), { name: "TimeoutError" });
  });
});
