/** A service whose main thread is blocked for good is ended by its watchdog. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { programFile } from "@flotilla/testkit/program-file";

/** Blocks the main thread as soon as the service handles signals, which is when its watchdog starts. */
const blocking = `data:text/javascript,${encodeURIComponent(`
  function blocked() { for (;;); }
  const timer = setInterval(() => { if (process.listenerCount("SIGTERM") > 0) setTimeout(blocked, 300); }, 50);
`)}`;
// Loading may take the thread for longer than a service would be blocked: on a busy machine it must not be ended for that.
const limits = { WATCHDOG_REPORT_AFTER: "500ms", WATCHDOG_END_AFTER: "3s" };
const freePorts = {
  HEALTH_PORT: "0",
  HTTP_PORT: "0",
  CA_PORT: "0",
  XDS_PORT: "0",
  XDS_TLS_PORT: "0",
  WEBHOOK_PORT: "0",
};

describe("watchdogs of services", { concurrency: 2 }, () => {
  for (const service of ["ca", "config-controller", "service-controller", "xds-server", "webhook"])
    it(`end ${service}`, { timeout: 180_000 }, async () => {
      const directory = mkdtempSync(join(tmpdir(), "flotilla-watchdog-"));
      const program = programFile(`services/${service}/bin/main`);
      const child = spawn(process.execPath, ["--import", blocking, program], {
        stdio: ["ignore", "pipe", "ignore"],
        env: { ...process.env, ...limits, ...freePorts, WORK_DIR: directory },
      });
      try {
        let output = "";
        child.stdout.on("data", (chunk: Buffer) => {
          output += chunk.toString();
        });
        const [exitCode] = (await once(child, "close")) as [number | null];
        assert.equal(exitCode, 70, output);
        const reports = output.split("\n").filter((line) => /main thread (stands|stood) still/.test(line));
        const isReported = (line: string) => line.includes(`"service":"${service}"`) && line.includes("blocked (");
        assert.ok(reports.some(isReported), output);
      } finally {
        child.kill("SIGKILL");
        rmSync(directory, { recursive: true });
      }
    });
});
