/** A launcher's reading of a service's health page. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, describe, it } from "node:test";
import { healthOf } from "./health.ts";

let answer = "";
const server = createServer((_, response) => response.end(answer));
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
after(() => server.close());
const healthUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

const cases: readonly (readonly [
  name: string,
  page: unknown,
  pid: number | undefined,
  state: string,
  detail: string,
])[] = [
  ["ready", { ready: true, pid: 5 }, 5, "ready", ""],
  [
    "not ready yet",
    { ready: false, conditions: [{ name: "bus", detail: "connecting" }] },
    undefined,
    "starting",
    "bus: connecting",
  ],
  [
    "ready with a condition",
    { ready: true, conditions: { refused: "1", bus: "away" } },
    undefined,
    "ready",
    "refused: 1, bus: away",
  ],
  [
    "of another process",
    { ready: true, pid: 6, service: "ca" },
    5,
    "away",
    `${healthUrl} is answered by process 6 (ca of another control plane)`,
  ],
  ["of another program", { ready: true }, 5, "away", `${healthUrl} is answered by another program`],
];

describe("a health page", () => {
  for (const [name, page, pid, state, detail] of cases)
    it(name, async () => {
      answer = JSON.stringify(page);
      assert.deepEqual(await healthOf({ healthUrl, pid }), { state, detail });
    });

  it("that is no JSON is of no service", async () => {
    answer = "<html>";
    assert.deepEqual(await healthOf({ healthUrl }), { state: "away", detail: "" });
  });
});
