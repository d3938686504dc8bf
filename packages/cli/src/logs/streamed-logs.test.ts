/** Logs of pods and of containers: what is asked for, and the lines by replica. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import type { KubeApi } from "@flotilla/kube-api";
import { readComposeLogs, readPodLogs, type StreamedLogsOptions } from "./streamed-logs.ts";

const all: StreamedLogsOptions = { names: [], follow: false, sinceSeconds: undefined };
const running = new AbortController().signal;
function aReader() {
  const lines: string[] = [];
  return { lines, onLine: (replica: string, raw: string) => void lines.push(`${replica}: ${raw}`) };
}

/** Pods by name with their label; each log is the path that was asked for. */
function aCluster(pods: Readonly<Record<string, string | undefined>>, isListed = true) {
  const asked: string[] = [];
  const items = Object.entries(pods).map(([name, label]) => ({
    metadata: { name, ...(label !== undefined && { labels: { "app.kubernetes.io/name": label } }) },
  }));
  const api: Pick<KubeApi, "get" | "textLines"> = {
    async get<T>(path: string) {
      asked.push(decodeURIComponent(path));
      return isListed ? ({ items } as T) : undefined;
    },
    async *textLines(path) {
      yield "a line of";
      yield path;
    },
  };
  return { asked, at: { api, namespace: "mesh" } };
}

describe("logs of pods", () => {
  it("are those of all services, each of the container of its service", async () => {
    const { asked, at } = aCluster({ "ca-1": "flotilla-ca", "other-1": undefined });
    const { lines, onLine } = aReader();
    await readPodLogs(at, all, onLine, running);
    assert.deepEqual(asked, [
      "/api/v1/namespaces/mesh/pods?labelSelector=app.kubernetes.io/name in (flotilla-ca,flotilla-config-controller," +
        "flotilla-service-controller,flotilla-xds-server,flotilla-webhook,flotilla-console)",
    ]);
    assert.deepEqual(lines.toSorted(), [
      "ca-1: /api/v1/namespaces/mesh/pods/ca-1/log?container=ca",
      "ca-1: a line of",
      "other-1: /api/v1/namespaces/mesh/pods/other-1/log?container=",
      "other-1: a line of",
    ]);
  });

  it("are those of the named services, followed, and of an age", async () => {
    const { asked, at } = aCluster({ p: "flotilla-xds-server" });
    const { lines, onLine } = aReader();
    await readPodLogs(at, { names: ["xds-server", "ca"], follow: true, sinceSeconds: 60 }, onLine, running);
    assert.match(asked[0] ?? "", /in \(flotilla-xds-server,flotilla-ca\)$/);
    assert.equal(lines[1], "p: /api/v1/namespaces/mesh/pods/p/log?container=xds-server&follow=true&sinceSeconds=60");
  });

  it("are missing where there is no pod", async () => {
    for (const isListed of [true, false])
      await assert.rejects(
        readPodLogs(aCluster({}, isListed).at, { ...all, names: ["ca"] }, () => {}, running),
        {
          code: "CLI_ABSENT",
          message: /no pod of flotilla-ca in namespace mesh: -n names another one/,
        },
      );
  });
});

describe("logs of the containers of Docker Compose", () => {
  const directory = mkdtempSync(join(tmpdir(), "flotilla-docker-"));
  after(() => rmSync(directory, { recursive: true }));
  const env = { PATH: `${directory}:${process.env["PATH"]}` };
  const docker = (script: string) =>
    writeFileSync(join(directory, "docker"), `#!/bin/sh\necho "$@" > ${directory}/args\n${script}\n`, { mode: 0o755 });
  const args = () => readFileSync(join(directory, "args"), "utf8").trim();

  it("are those of all services by the container that wrote them", async () => {
    docker("printf 'ca-1  | first\\nxds-server-1 |  indented\\nno container\\n'");
    const { lines, onLine } = aReader();
    await readComposeLogs(all, env, onLine, running);
    assert.deepEqual(lines, ["ca-1: first", "xds-server-1:  indented", ": no container"]);
    assert.equal(args(), "compose logs --no-color ca config-controller service-controller xds-server webhook console");
  });

  it("are those of the named services, followed, and of an age", async () => {
    docker("exit 0");
    await readComposeLogs({ names: ["ca"], follow: true, sinceSeconds: 60 }, env, () => {}, running);
    assert.equal(args(), "compose logs --no-color --follow --since 60s ca");
  });

  for (const [name, script, reason] of [
    ["what docker printed", "echo 'no configuration file' >&2; exit 14", /docker compose logs: no configuration file$/],
    ["its exit code where it printed nothing", "exit 14", /docker compose logs: it ended with 14$/],
  ] as const)
    it(`fail with ${name}`, async () => {
      docker(script);
      await assert.rejects(
        readComposeLogs(all, env, () => {}, running),
        { code: "CLI_FAILED", message: reason },
      );
    });

  it("fail where there is no docker", () =>
    assert.rejects(
      readComposeLogs(all, { PATH: join(directory, "none") }, () => {}, running),
      /ENOENT/,
    ));

  it("end without a failure where they are followed no longer", async () => {
    docker("echo 'ca-1 | first'; exec sleep 60");
    const stop = new AbortController();
    const { lines, onLine } = aReader();
    await readComposeLogs(
      { ...all, follow: true },
      env,
      (replica, raw) => {
        onLine(replica, raw);
        stop.abort();
      },
      stop.signal,
    );
    assert.deepEqual(lines, ["ca-1: first"]);
  });
});
