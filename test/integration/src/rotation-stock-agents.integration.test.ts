/**
 * The root is replaced under agents that take roots with their certificates only, as pilot-agent does by default, without a pod in
 * their tokens, and beside a certificate whose holder is gone. Unmodified pilot-agents run where PILOT_AGENT names one.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { openLocalIssuer } from "@flotilla/auth";
import { requestCertificate } from "@flotilla/auth/serving";
import { allReady, type ControlPlane, copySample, healthUrlOf, startControlPlane } from "@flotilla/cli/testing";
import { parseCertificatesPem, rootId } from "@flotilla/pki";
import { delay, until } from "@flotilla/runtime";
import { freePorts } from "@flotilla/servers";
import { program } from "./local/flotilla.ts";
import {
  agentsOfOurs,
  noPilotAgents,
  pilotAgents,
  pilotAgentsWithPcds,
  type Workloads,
} from "./rotation/stock-workloads.ts";

const execute = promisify(execFile);
const identity = (name: string) => `spiffe://cluster.local/ns/shop/sa/${name}`;
if (noPilotAgents !== false) console.warn(`      ${noPilotAgents}`);

interface Status {
  readonly phase: string;
  readonly roots?: { readonly next: string };
  readonly holdups: readonly { readonly name: string; readonly reason: string; readonly isConnected?: boolean }[];
  readonly last?: { readonly outcome: string };
}

for (const { name, start, skip, ttlMs, hasPcds } of [
  { name: "agents of ours without PCDS", start: agentsOfOurs, skip: false, ttlMs: 30_000, hasPcds: false },
  { name: "unmodified pilot-agents", start: pilotAgents, skip: noPilotAgents, ttlMs: 30_000, hasPcds: false },
  // Their certificates do not end within the test: they renew because the trusted roots change.
  {
    ...{ name: "pilot-agents that follow PCDS", start: pilotAgentsWithPcds, skip: noPilotAgents },
    ttlMs: 3_600_000,
    hasPcds: true,
  },
] as const)
  describe(`rotation with ${name}`, { skip }, () => {
    // Sockets of agents stand in it: their paths must be short.
    const workDir = mkdtempSync(join(tmpdir(), "fr-"));
    const owned = new AsyncDisposableStack();
    const stop = new AbortController();
    const answers = { good: 0, bad: 0 };
    let plane: ControlPlane;
    let workloads: Workloads;
    let load: Promise<void> | undefined;
    /** When no certificate of the old root was issued any more, at the latest. */
    let issuingSince = 0;

    before(async () => {
      const settings = { ...process.env, CA_ROTATION_SETTLE: "3s" } as Record<string, string>;
      const more = { embedded: false, mesh: undefined, networks: undefined, flags: new Set<string>() };
      const config = copySample(workDir).path;
      const options = { ...more, config, settings, firstPort: await freePorts(20), workDir };
      plane = owned.use(await startControlPlane({ options, logs: "files", onProgress: () => undefined }));
      plane.ended.catch(() => undefined);
      await allReady(plane, 90_000, () => undefined, stop.signal);
      workloads = await start({ layout: plane.layout, ttlMs, owned });
      // Its holder goes away at once and never comes back.
      await requestCertificate({
        address: `127.0.0.1:${plane.layout.ports.ca}`,
        serverName: "flotilla-ca.istio-system.svc",
        rootsPem: rootFile(),
        proof: {
          token: await (await openLocalIssuer(workDir)).mintToken({ namespace: "shop", serviceAccount: "gone" }),
        },
        ...{ names: [], keyType: "ecdsa-p256", ttlMs: 86_400_000 },
      });
      await until(async () => (await workloads.ask()) === 200, {
        withinMs: 60_000,
        what: "a first answer",
        everyMs: 100,
      });
      load = ask();
    });
    after(async () => {
      stop.abort();
      await load;
      await owned.disposeAsync();
      rmSync(workDir, { recursive: true, force: true });
    });

    const rootFile = () => readFileSync(join(workDir, "root-cert.pem"), "utf8");

    async function ask(): Promise<void> {
      while (!stop.signal.aborted) {
        if ((await workloads.ask()) === 200) answers.good++;
        else answers.bad++;
        await delay(10);
      }
    }

    async function flotilla(...args: readonly string[]): Promise<Status> {
      const { stdout } = await execute(process.execPath, [program, "ca", ...args, "--json", "--work-dir", workDir]);
      return JSON.parse(stdout) as Status;
    }

    /** As `flotilla ca status` shows it, without a process for each question. */
    async function rotation(): Promise<Status> {
      return (await (await fetch(`${healthUrlOf("ca", workDir)}/debug/rotation`)).json()) as Status;
    }

    it("waits for the renewal of each, reports when it is expected, and names those that are gone", {
      timeout: 180_000,
    }, async () => {
      const begun = await flotilla("rotate");
      assert.equal(begun.phase, "trusting");
      // xds-server reports who is connected once a second: a proxy that has just come may still be missing. One that happened to
      // renew in that second is held up no more.
      const reasonOf = async (account: string) => {
        const holdup = (await rotation()).holdups.find((one) => one.name.startsWith(`${identity(account)}@host/`));
        return holdup === undefined ? "renewed" : holdup.isConnected === true && holdup.reason;
      };
      for (const account of hasPcds ? [] : workloads.accounts) {
        const what = `${account} to be held up as a connected proxy`;
        const reason = await until(() => reasonOf(account), { withinMs: 10_000, what, everyMs: 100 });
        if (reason !== "renewed")
          assert.match(reason, /takes the new root with its next certificate; its renewal is expected at/);
      }
      const left = await until(
        async () => {
          const { holdups } = await rotation();
          return holdups.length === 1 && holdups[0];
        },
        { withinMs: 60_000, what: "the agents to have renewed", everyMs: 500 },
      );
      assert.match(left.name, /sa\/gone@host\/127\.0\.0\.1$/);
      assert.match(left.reason, /^is not connected .* its certificate ends at/);
    });

    it("goes on without what the list shows, and ends", { timeout: 180_000 }, async () => {
      const { roots, holdups } = await flotilla("status");
      await flotilla("rotate", "--without", holdups[0]?.name ?? "");
      const isIssuing = async () => (await flotilla("status")).phase !== "trusting";
      await until(isIssuing, { withinMs: 100_000, what: "certificates of the new root", everyMs: 500 });
      issuingSince = performance.now();
      await until(
        async () => {
          const { phase, holdups } = await flotilla("status");
          if (phase !== "idle") throw new Error(`${phase}, held up by ${JSON.stringify(holdups)}`);
          return true;
        },
        { withinMs: 100_000, what: "the end of the rotation", everyMs: 500 },
      );
      assert.equal((await flotilla("status")).last?.outcome, "rotated");
      assert.deepEqual(parseCertificatesPem(rootFile()).map(rootId), [roots?.next]);
    });

    it("no request failed meanwhile, nor after the last certificate of the old root has ended", {
      timeout: 180_000,
    }, async () => {
      await delay(Math.max(0, issuingSince + Math.min(ttlMs, 30_000) - performance.now()));
      process.stdout.write(`      ${answers.good} requests, ${answers.bad} failures\n`);
      assert.equal(answers.bad, 0);
      assert.ok(answers.good > 500, `${answers.good} requests`);
    });
  });
