/**
 * `flotilla logs` of a cluster and of Docker Compose: a real kube-apiserver asks a kubelet for the logs of pods, which here is a server of the
 * test; `docker` is a program of the test that prints as `docker compose logs` does.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { KubeObject } from "@flotilla/kube-api";
import { type RunningApiserver, startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import { createTestAuthority } from "@flotilla/testkit";
import { recordRun } from "../recorded-run.fixture.ts";

const directory = mkdtempSync(join(tmpdir(), "flotilla-streamed-"));
const namespace = "istio-system";
const logLine = (level: string, second: number, msg: string) =>
  JSON.stringify({ level, time: `2026-01-01T00:00:0${second}.000Z`, service: "x", msg });
const server: RunningApiserver | undefined = await startKubeApiserver(process.env);
after(async () => {
  await server?.[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

describe("logs of the pods of a cluster", { skip: server === undefined && whyNoApiserver }, () => {
  const asked: string[] = [];
  let kubelet: Server;
  const logs: Readonly<Record<string, readonly string[]>> = {
    [`/containerLogs/${namespace}/flotilla-ca-1/ca`]: [logLine("info", 1, "first"), logLine("error", 4, "last")],
    [`/containerLogs/${namespace}/flotilla-xds-server-1/xds-server`]: ["a crash", logLine("warn", 2, "second")],
  };
  const show = (...args: readonly string[]) => recordRun(["logs", "--kubeconfig", server?.kubeconfig ?? "", ...args]);

  after(() => void kubelet.close());
  before(async () => {
    const { certificatePem: cert, keyPem: key } = await (await createTestAuthority()).keyPair();
    kubelet = createServer({ cert, key }, ({ url = "" }, response) => {
      asked.push(url);
      response.end((logs[new URL(url, "https://node").pathname] ?? []).map((line) => `${line}\n`).join(""));
    }).listen(0, "127.0.0.1");
    await once(kubelet, "listening");
    const api = server?.api ?? assert.fail();
    await api.create("/api/v1/namespaces", { metadata: { name: namespace } });
    const node = await api.create<KubeObject>("/api/v1/nodes", { metadata: { name: "node" } });
    const Port = (kubelet.address() as AddressInfo).port;
    await api.replace("/api/v1/nodes/node/status", {
      ...node,
      status: {
        addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
        daemonEndpoints: { kubeletEndpoint: { Port } },
      },
    });
    for (const name of ["ca", "xds-server"])
      await api.create(`/api/v1/namespaces/${namespace}/pods`, {
        metadata: { name: `flotilla-${name}-1`, labels: { "app.kubernetes.io/name": `flotilla-${name}` } },
        spec: { nodeName: "node", containers: [{ name, image: "flotilla" }] },
      });
  });

  it("are shown in order of time", async () => {
    const { code, out, err } = await show();
    assert.equal(code, 0, err);
    assert.deepEqual(out.match(/first|second|last|a crash/g), ["a crash", "first", "second", "last"]);
    assert.match(out, /ERROR flotilla-ca-1 .* last/);
  });
  it("are chosen by service, level and age", async () => {
    const { out } = await show("ca", "--level", "error", "-o", "json");
    assert.deepEqual(out.trim(), logLine("error", 4, "last"));
    asked.length = 0;
    await show("ca", "--since", "10m");
    assert.match(asked.join(), /sinceSeconds=600/);
  });
  it("are those that come, too", async () => {
    asked.length = 0;
    const { out } = await show("xds-server", "-f");
    assert.match(out, /WARN +flotilla-xds-server-1 +second/);
    assert.match(asked.join(), /follow=true/);
  });
  it("are named where there is no pod", async () => {
    const { code, err } = await show("webhook", "-n", "default");
    assert.equal(code, 1);
    assert.match(err, /no pod of flotilla-webhook in namespace default: -n names another one/);
  });
});

describe("logs of the containers of Docker Compose", () => {
  const file = join(directory, "docker");
  const env = { PATH: `${directory}:${process.env["PATH"]}` };
  const docker = (script: string) => {
    writeFileSync(file, `#!/bin/sh\necho "$@" > ${directory}/args\n${script}\n`);
    chmodSync(file, 0o755);
  };

  it("are shown in order of time", async () => {
    docker(
      `echo 'xds-server-1  | ${logLine("warn", 2, "second")}'; echo 'ca-1          | ${logLine("info", 1, "first")}'`,
    );
    const { code, out } = await recordRun(["logs", "--compose", "--since", "1h", "ca", "xds-server"], env);
    assert.equal(code, 0);
    assert.equal(out, "", "both lines are older than an hour");
    assert.match(
      readFileSync(join(directory, "args"), "utf8"),
      /^compose logs --no-color --since 3600s ca xds-server$/m,
    );
    const all = await recordRun(["logs", "--compose"], env);
    assert.deepEqual(all.out.match(/first|second/g), ["first", "second"]);
    assert.match(all.out, /WARN +xds-server-1 +second/);
  });
  it("a failure has the reason of docker", async () => {
    docker("echo 'no configuration file provided: not found' >&2; exit 14");
    const { code, err } = await recordRun(["logs", "--compose"], env);
    assert.equal(code, 1);
    assert.match(err, /docker compose logs: no configuration file provided/);
  });
  it("and a cluster are two places", async () => {
    const { code, err } = await recordRun(["logs", "--compose", "--context", "prod"], env);
    assert.equal(code, 2);
    assert.match(err, /give one of them/);
  });
});
