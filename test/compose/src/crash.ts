/** A container that is killed as a crash would kill it, and whether its service is ready again. */
import assert from "node:assert/strict";
import { until } from "@flotilla/runtime";
import type { Project } from "./project.ts";

/** Kills the main process; the engine's own kill counts as a request to stop. Resolves when the container runs again. */
export async function crash(project: Project, service: string): Promise<void> {
  const [container] = await project.containersOf(service);
  assert.ok(container?.running, `${service} runs`);
  process.kill(container.pid, "SIGKILL");
  const isOther = async () => {
    const [now] = await project.containersOf(service);
    return now?.running === true && now.pid !== container.pid;
  };
  await until(isOther, { withinMs: 60_000, what: `the restart of ${service}` });
}

/** By the command of the service's health check, without its interval. */
export function isReady(project: Project, service: string): Promise<boolean> {
  const check = (...args: readonly string[]) => ["node", "packages/cli/bin/check.js", ...args];
  const page = (port: string) => check("page", port);
  const checks: Readonly<Record<string, readonly string[]>> = {
    ca: page("15026"),
    "config-controller": page("15024"),
    "service-controller": page("15025"),
    "xds-server": page("15014"),
    webhook: page("15027"),
    console: page("15030"),
    nats: ["wget", "-q", "-O", "/dev/null", "http://127.0.0.1:8222/healthz"],
    redis: ["redis-cli", "-s", "/certificates/redis.sock", "ping"],
    "reviews-app": check("socket", "/sockets/app.sock"),
  };
  const proxy = ["bash", "/usr/local/bin/ready.sh", "15000"];
  const renews = /^issuer$|-certificate$/.test(service);
  const command = checks[service] ?? (renews ? check("until", "/tmp/renew-by") : proxy);
  return project.exec(service, ...command).then(
    () => true,
    () => false,
  );
}
