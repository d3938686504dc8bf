/**
 * Findings of routes to hosts and ports that no Service has, in the status of objects: both controllers read a directory, real NATS between
 * them. The findings follow the Services.
 */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { main as configController } from "@flotilla/config-controller";
import { until } from "@flotilla/runtime";
import { freePort, startNats } from "@flotilla/servers";
import { main as serviceController } from "@flotilla/service-controller";

const service = (name: string, port: number) => `apiVersion: v1
kind: Service
metadata: {name: ${name}, namespace: shop}
spec: {clusterIP: 10.0.0.1, ports: [{name: http, port: ${port}}], selector: {app: web}}
`;
const route = `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: route, namespace: shop}
spec: {hosts: [web], http: [{route: [{destination: {host: web, port: {number: 80}}}]}]}
`;

/** The warnings of `/debug/objects?object=VirtualService/route.shop`. */
interface Status {
  readonly warnings: readonly { readonly field: string; readonly reason: string }[];
}

test("the status of a route names a host and a port that no Service has", async () => {
  await using cleanup = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), "object-analysis-"));
  cleanup.defer(() => rm(directory, { recursive: true, force: true }));
  const config = join(directory, "config");
  await mkdir(config);
  const write = (text: string) => writeFile(join(config, "service.yaml"), text);
  await write(service("wed", 80));
  await writeFile(join(config, "route.yaml"), route);
  await using nats = await startNats({ directory, env: process.env });
  const [configPort, servicePort] = [await freePort(), await freePort()];
  const shared = {
    ...{ BUS_URL: nats.url, CONFIG_DIR: config, HEALTH_HOST: "127.0.0.1", LOG_LEVEL: "silent" },
    ...{ WORK_DIR: directory, PILOT_ENABLE_ANALYSIS: "true" },
  };
  const stop = new AbortController();
  const running = Promise.all([
    configController({ ...shared, HEALTH_PORT: String(configPort) }, stop.signal),
    serviceController({ ...shared, HEALTH_PORT: String(servicePort) }, stop.signal),
  ]);
  cleanup.defer(async () => {
    stop.abort(new Error("the test is over"));
    await running;
  });

  const page = `http://127.0.0.1:${configPort}/debug/objects?object=VirtualService/route.shop`;
  const warnings = async () => {
    const answer = await fetch(page);
    if (!answer.ok) return [`status ${answer.status}`];
    const { warnings: found } = (await answer.json()) as Status;
    return found.map(({ field, reason }) => `${field}: ${reason}`);
  };
  const become = (what: string, isWanted: (found: readonly string[]) => boolean) =>
    until(async () => isWanted(await warnings()), { withinMs: 90_000, what, everyMs: 100 });
  const host = /^spec\.http\[0\]\.route\[0\]\.destination\.host: host web does not exist: is wed meant\? \[IST0101\]$/;
  await become("a host of no service", (found) => found.some((one) => host.test(one)));
  await write(service("web", 8080));
  await become(
    "a port of no service",
    (found) => found.length > 0 && found.every((one) => /\bport\b.*\[IST0101\]$/.test(one)),
  );
  await write(service("web", 80));
  await become("nothing", (found) => found.length === 0);
  assert.deepEqual(await warnings(), []);
});
