/** Two config-controllers over a real NATS: one publishes, and when it is killed the other publishes what was missed and nothing else. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { connectBus, filters } from "@flotilla/bus";
import { noopLogger, until } from "@flotilla/runtime";
import { freePort, startNats } from "@flotilla/servers";
import { programFile } from "@flotilla/testkit/program-file";

const directory = await mkdtemp(join(tmpdir(), "config-replicas-"));
const started: ChildProcess[] = [];
after(async () => {
  for (const child of started) child.kill("SIGKILL");
  await rm(directory, { recursive: true, force: true });
});

interface Replica {
  readonly child: ChildProcess;
  readonly publishes: () => Promise<boolean>;
}

async function start(busUrl: string, config: string): Promise<Replica> {
  const health = await freePort();
  const child = spawn(process.execPath, [programFile("services/config-controller/bin/main")], {
    env: {
      ...{ ...process.env, BUS_URL: busUrl, CONFIG_DIR: config, LOG_LEVEL: "error" },
      ...{ HEALTH_HOST: "127.0.0.1", HEALTH_PORT: `${health}` },
    },
    stdio: ["ignore", "inherit", "inherit"],
  });
  started.push(child);
  const page = (path: string) => fetch(`http://127.0.0.1:${health}${path}`);
  const isReady = () =>
    page("/ready").then(
      ({ ok }) => ok,
      () => false,
    );
  await until(isReady, { withinMs: 60_000, what: "a replica to be ready", everyMs: 50 });
  return {
    child,
    publishes: async () => /^flotilla_config_publishes(\{.*\})? 1$/m.test(await (await page("/metrics")).text()),
  };
}

const sidecar = (name: string, host: string) => `apiVersion: networking.istio.io/v1
kind: Sidecar
metadata: {name: ${name}, namespace: shop}
spec: {egress: [{hosts: ["${host}"]}]}
`;

test("a killed replica is followed by the other, which publishes the differences", { timeout: 180_000 }, async () => {
  await using nats = await startNats({ env: process.env, directory });
  await using bus = await connectBus(
    { url: nats.url, clientName: "test", log: noopLogger },
    AbortSignal.timeout(100_000),
  );
  const config = join(directory, "mesh");
  await mkdir(config);
  for (const name of ["a", "b", "c"]) await writeFile(join(config, `${name}.yaml`), sidecar(name, "*/*"));
  const sequences = async () =>
    new Map((await bus.lastValues(filters.config)).map(({ subject, sequence }) => [subject, sequence]));

  const [one, two] = [await start(nats.url, config), await start(nats.url, config)];
  // A process that the machine held up for longer than its lease may have lost it to the other.
  const onlyOne = async () => (await one.publishes()) !== (await two.publishes());
  await until(onlyOne, { withinMs: 60_000, what: "one replica that publishes", everyMs: 100 });
  const [publishing, waiting] = (await one.publishes()) ? [one, two] : [two, one];
  const before = await sequences();
  publishing.child.kill("SIGKILL");
  await writeFile(join(config, "b.yaml"), sidecar("b", "./*"));
  const changed = async () => [...(await sequences())].filter(([subject, at]) => before.get(subject) !== at);
  await until(async () => (await changed()).length > 0, { withinMs: 60_000, what: "the change", everyMs: 100 });
  assert.deepEqual(
    (await changed()).map(([subject]) => subject.split(".").at(-1)),
    ["b"],
  );
  await until(waiting.publishes, { withinMs: 60_000, what: "the other replica to publish", everyMs: 100 });
});
