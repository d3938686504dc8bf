/**
 * SIGTERM to each service of a control plane with real NATS and Redis: it is not ready any more while it finishes what it has begun, hands its
 * streams off one by one, and ends with 0. A second signal ends it at once.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { allReady, type ControlPlane, copySample, healthOf, startControlPlane } from "@flotilla/cli/testing";
import { until } from "@flotilla/runtime";
import { freePorts } from "@flotilla/servers";
import { Watcher } from "./replicas/watcher.ts";
import { type HeldWork, holds, statusOfHeldObject } from "./shutdown/held-work.ts";

type Service = ControlPlane["services"][number];

const watcherCount = 150;
const names = ["ca", "config-controller", "service-controller", "xds-server", "webhook"] as const;

describe("a service that is asked to stop", () => {
  const workDir = mkdtempSync(join(tmpdir(), "flotilla-shutdown-"));
  const owned = new AsyncDisposableStack();
  /** How processes ended, in order. */
  const ends: { readonly name: string; readonly reason: string }[] = [];
  let plane: ControlPlane;

  const soon = (what: string) => ({ withinMs: 90_000, what, everyMs: 20 });
  const serviceOf = (name: string): Service => {
    const found = plane.services.find((one) => one.name === name);
    assert.ok(found, name);
    return found;
  };
  /** The state of its readiness page; undefined without an answer. */
  const stateOf = async ({ healthUrl }: Service): Promise<string | undefined> => {
    try {
      const page = await fetch(`${healthUrl}/ready`, { signal: AbortSignal.timeout(5_000) });
      return `${page.status} ${((await page.json()) as { readonly state: string }).state}`;
    } catch {
      return undefined;
    }
  };
  const signal = (service: Service, ...signals: readonly NodeJS.Signals[]): void => {
    assert.ok(service.pid !== undefined);
    for (const one of signals) process.kill(service.pid, one);
  };
  /** Resolves to how the process ended that runs now. */
  const endOf = async (name: string): Promise<string> => {
    const before = ends.length;
    return until(() => ends.slice(before).find((end) => end.name === name)?.reason, soon(`the end of ${name}`));
  };
  const untilReady = (name: string) =>
    until(async () => (await healthOf(serviceOf(name))).state === "ready", soon(`${name} to be ready`));

  before(async () => {
    const settings = { ...process.env } as Record<string, string>;
    const config = copySample(workDir).path;
    const firstPort = await freePorts(20);
    const options = { embedded: false, mesh: undefined, networks: undefined, config, settings, firstPort, workDir };
    plane = owned.use(
      await startControlPlane({
        options,
        logs: "files",
        onProgress: () => undefined,
        onEvent: (event) => {
          if (event.kind === "ended") ends.push(event);
        },
      }),
    );
    await allReady(plane, 90_000, () => undefined, new AbortController().signal);
  });
  after(async () => {
    await owned.disposeAsync();
    rmSync(workDir, { recursive: true, force: true });
  });

  const answers = { ca: "grpc 0", webhook: "200", "config-controller": "201" } as const;
  for (const name of ["ca", "webhook", "config-controller"] as const)
    it(`${name} is not ready, answers what it has begun, and ends with 0`, async () => {
      const service = serviceOf(name);
      const held = await holds[name](plane);
      const ended = endOf(name);
      signal(service, "SIGTERM");
      await until(async () => (await stateOf(service)) === "503 stopping", soon("the service to be stopping"));
      assert.equal(await held.finish(), answers[name]);
      assert.match(await ended, /^exit code 0\b/);
      await untilReady(name);
    });

  it("config-controller has what it answered after its restart", async () => {
    assert.equal(await statusOfHeldObject(plane), 200);
  });

  it("service-controller ends with 0, and its successor publishes", async () => {
    const ended = endOf("service-controller");
    signal(serviceOf("service-controller"), "SIGTERM");
    assert.match(await ended, /^exit code 0\b/);
    await untilReady("service-controller");
    const publishes = async () => {
      const page = await (await fetch(`${serviceOf("service-controller").healthUrl}/metrics`)).text();
      return /^flotilla_registry_publishes 1$/m.test(page);
    };
    await until(publishes, soon("the lease to be taken over"));
  });

  it("xds-server is not ready, hands its streams off one by one, and ends with 0", { timeout: 180_000 }, async () => {
    const watchers: Watcher[] = [];
    for (let i = 0; i < watcherCount; i++)
      watchers.push(owned.use(new Watcher(`127.0.0.1:${plane.layout.ports.xds}`, i)));
    await until(() => watchers.every(({ isSynced }) => isSynced), soon("all proxies to be synced"));
    const service = serviceOf("xds-server");
    const ended = endOf("xds-server");
    signal(service, "SIGTERM");
    await until(async () => (await stateOf(service)) === "503 stopping", soon("the service to be stopping"));
    assert.match(await ended, /^exit code 0\b/);
    await until(() => watchers.every(({ endedAtMs }) => endedAtMs !== undefined), soon("all streams to end"));
    // 150 streams are spread over 750 ms; those that end in one turn arrive within some.
    const times = watchers.map(({ endedAtMs = 0 }) => Math.round(endedAtMs)).sort((a, b) => a - b);
    const [first = 0, last = 0] = [times[0], times.at(-1)];
    assert.ok(
      last - first > 100 && new Set(times).size > 20,
      `streams end one after the other: ${times.map((at) => at - first)}`,
    );
    await until(() => watchers.every(({ connects }) => connects > 1), soon("all proxies to connect again"));
  });

  for (const name of names)
    it(`${name} ends at once by a second signal`, { timeout: 180_000 }, async () => {
      await untilReady(name);
      const service = serviceOf(name);
      const held: HeldWork | undefined = name in holds ? await holds[name as keyof typeof holds](plane) : undefined;
      const ended = endOf(name);
      signal(service, "SIGTERM");
      if (held !== undefined)
        await until(async () => (await stateOf(service)) === "503 stopping", soon("the service to be stopping"));
      signal(service, "SIGINT");
      // One without work may have ended by itself, or be past its own handling of signals, when the second one comes.
      assert.match(await ended, held === undefined ? /^exit code (?:0|130)\b|^signal SIGINT/ : /^exit code 130\b/);
      await held?.finish().then(assert.fail, () => undefined);
    });
});
