/**
 * A machine that slept for two days, or whose clock was set: ca notices that its own certificate has ended and makes another one, and the
 * other services obtain theirs. The process has a clock of its own, which a signal sets.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { connect } from "node:tls";
import { obtainServingCertificate, serviceToken } from "@flotilla/auth/serving";
import { noopLogger, until } from "@flotilla/runtime";
import { programFile } from "@flotilla/testkit/program-file";

const twoDaysMs = 2 * 86_400_000;
const caServerName = "flotilla-ca.istio-system.svc";

interface RunningCa extends AsyncDisposable {
  readonly workDir: string;
  readonly rootFile: string;
  readonly port: number;
  /** Its clock goes over to the other difference from the true time. */
  jump(): void;
}

async function startCa(offByMs: number, thenOffByMs: number): Promise<RunningCa> {
  const workDir = mkdtempSync(join(tmpdir(), "flotilla-clock-"));
  // Certificates are issued by JavaScript's clock; the handshakes of this process judge them by the true one.
  const clock = `data:text/javascript,${encodeURIComponent(`
    const trueNow = Date.now;
    let [offByMs, thenOffByMs] = [${offByMs}, ${thenOffByMs}];
    Date.now = () => trueNow() + offByMs;
    process.on("SIGUSR2", () => { [offByMs, thenOffByMs] = [thenOffByMs, offByMs]; });
  `)}`;
  const program = programFile("services/ca/bin/main");
  const child = spawn(process.execPath, ["--import", clock, program], {
    stdio: ["ignore", "pipe", "ignore"],
    env: { ...process.env, WORK_DIR: workDir, CA_HOST: "127.0.0.1", CA_PORT: "0", HEALTH_PORT: "0" },
  });
  const port = await portOf(child);
  return {
    workDir,
    rootFile: join(workDir, "root-cert.pem"),
    port,
    jump: () => void child.kill("SIGUSR2"),
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
      rmSync(workDir, { recursive: true });
    },
  };
}

async function portOf(child: ChildProcess): Promise<number> {
  let output = "";
  child.stdout?.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  const line = await until(() => /"port":(\d+).*"certificates issued"/.exec(output), {
    withinMs: 60_000,
    what: "ca to issue certificates",
    everyMs: 50,
  });
  return Number(line[1]);
}

/** A client's reason against ca's certificate; undefined when it is good. */
function reasonAgainst({ port, rootFile }: RunningCa): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const ca = readFileSync(rootFile, "utf8");
  const socket = connect({ port, host: "127.0.0.1", servername: caServerName, ca, ALPNProtocols: ["h2"] }, () => {
    resolve(undefined);
    socket.destroy();
  });
  socket.once("error", (error: NodeJS.ErrnoException) => resolve(error.code));
  return promise;
}

const soonValid = { withinMs: 60_000, what: "a certificate of ca that is valid now", everyMs: 50 };

describe("a clock that jumps", { concurrency: 2 }, () => {
  it("forward by two days: ca shows a valid certificate again, and services obtain theirs", async (t) => {
    await using ca = await startCa(-twoDaysMs, 0);
    assert.equal(await reasonAgainst(ca), "CERT_HAS_EXPIRED");
    const stop = new AbortController();
    const obtaining = obtainServingCertificate(
      {
        ...{ caAddress: `127.0.0.1:${ca.port}`, caServerName, rootFile: ca.rootFile, log: noopLogger },
        names: ["flotilla-xds-server.istio-system.svc"],
        token: () =>
          serviceToken({
            ...{ tokenFile: undefined, workDir: ca.workDir },
            ...{ namespace: "istio-system", serviceAccount: "flotilla-xds-server" },
          }),
      },
      stop.signal,
    );
    try {
      const jumped = performance.now();
      ca.jump();
      await until(async () => (await reasonAgainst(ca)) === undefined, soonValid);
      t.diagnostic(`valid ${Math.round(performance.now() - jumped)} ms after the jump`);
      await using certificate = await obtaining;
      assert.ok(certificate.notAfterMs > Date.now());
    } finally {
      stop.abort();
      await obtaining.catch(() => undefined);
    }
  });

  it("forward and back: the certificate of the wrong time is replaced", async () => {
    await using ca = await startCa(0, twoDaysMs);
    assert.equal(await reasonAgainst(ca), undefined);
    ca.jump();
    await until(async () => (await reasonAgainst(ca)) === "CERT_NOT_YET_VALID", {
      ...soonValid,
      what: "ca to take its own clock for the true one",
    });
    ca.jump();
    await until(async () => (await reasonAgainst(ca)) === undefined, soonValid);
  });
});
