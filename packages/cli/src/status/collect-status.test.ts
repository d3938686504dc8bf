/** Results that `flotilla status` collects from the pages of replicas. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { type Answer, answerPages } from "../answering-service.fixture.ts";
import { paths, portsFrom } from "../layout.ts";
import { collectStatus } from "./collect-status.ts";

const workDir = mkdtempSync(join(tmpdir(), "flotilla-collect-"));
after(() => rmSync(workDir, { recursive: true }));

const findings = { conflict: { "Gateway/shop/g": { message: "80 is taken" }, "Gateway/shop/h": { message: "81" } } };
const refused = { object: "Sidecar/shop/s", state: "refused", problems: [], warnings: [] };
const live = { distribution: { refusals: [{ proxy: "p" }] } };
const pagesOf: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  "xds-server": {
    "/debug/syncz": [
      { proxy: "web.shop", resources: { a: { lastError: "no" }, b: {} } },
      { proxy: "api.shop" },
      { proxy: "old.shop", resources: { a: { lastError: "" } } },
    ],
    "/debug/push_status": findings,
  },
  "config-controller": {
    "/debug/objects?open=true": {
      ...{ generation: 3, total: 9 },
      objects: [refused, { ...refused, state: "accepted", inForce: live }, { ...refused, state: "accepted" }],
    },
    "/debug/problems": {
      problems: [{ file: "a.yaml", reason: "no YAML" }],
      ignored: [{ source: "files", apiVersion: "apps/v1", kind: "Deployment", count: 2 }],
    },
  },
  "service-controller": { "/debug/problems": { problems: [{ object: "Service/shop/s", reason: "no port" }] } },
};

const answering =
  (service: string): Answer =>
  ({ url }) => {
    const page = url === "/ready" ? { ready: true, pid: process.pid } : pagesOf[service]?.[url];
    return page === undefined ? { status: 404, body: {} } : { body: page };
  };

describe("the status of a control plane", () => {
  it("puts together what all its services report", async () => {
    await using one = await answerPages(answering("xds-server"));
    await using two = await answerPages(answering("xds-server"));
    await using config = await answerPages(answering("config-controller"));
    await using service = await answerPages(answering("service-controller"));
    const url = [
      ...[`xds-server=${one.url}`, `xds-server=${two.url}`],
      ...[`config-controller=${config.url}`, `service-controller=${service.url}`],
    ];
    const status = await collectStatus({ workDir, url });
    assert.deepEqual(
      status.services.map(({ name, state }) => [name, state]),
      [
        ["xds-server", "ready"],
        ["xds-server", "ready"],
        ["config-controller", "ready"],
        ["service-controller", "ready"],
      ],
    );
    assert.deepEqual(
      status.proxies?.map(({ proxy }) => proxy),
      ["api.shop", "api.shop", "old.shop", "old.shop", "web.shop", "web.shop"],
    );
    assert.deepEqual(status.problems, [
      { service: "config-controller", file: "a.yaml", reason: "no YAML" },
      { service: "service-controller", object: "Service/shop/s", reason: "no port" },
    ]);
    assert.deepEqual(
      status.ignored.map(({ kind, count }) => [kind, count]),
      [["Deployment", 2]],
    );
    assert.deepEqual(status.findings, [
      { object: "Gateway/shop/g", message: "80 is taken" },
      { object: "Gateway/shop/h", message: "81" },
    ]);
    // Two objects, two problems, and the type that both replicas report as refused.
    assert.deepEqual([status.objects?.generation, status.refusals], [3, 6]);
  });

  it("has no objects where config-controller does not answer", async () => {
    const status = await collectStatus({ workDir, url: ["config-controller=http://127.0.0.1:1"] });
    assert.deepEqual([status.objects, status.refusals, status.services[0]?.state], [undefined, 0, "away"]);
  });

  it("says of a recorded replica without a process that it is started again", async () => {
    await using page = await answerPages(answering("ca"));
    const replica = { name: "ca", healthUrl: page.url };
    const services = [
      { ...replica, replica: "ca-1", restarts: 1 },
      { ...replica, replica: "ca-2", restarts: 0, pid: process.pid },
      { ...replica, replica: "ca-3", restarts: 0, pid: 1 },
    ];
    writeFileSync(paths({ workDir }).state, JSON.stringify({ pid: process.pid, ports: portsFrom(1), services }));
    const status = await collectStatus({ workDir, url: [] });
    assert.deepEqual(
      status.services.map(({ name, state, restarts }) => [name, state, restarts]),
      [
        ["ca-1", "restarting", 1],
        ["ca-2", "ready", 0],
        ["ca-3", "away", 0],
      ],
    );
  });
});
