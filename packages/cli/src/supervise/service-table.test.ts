/** The table of what runs. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { formatTable, type TableRow } from "./service-table.ts";

it("columns are as wide as their widest cell, details stand below", () => {
  const rows: readonly TableRow[] = [
    { name: "nats", state: "ready", pid: 12, restarts: 0, listens: ":4222", detail: "" },
    {
      name: "xds-server-2",
      state: "restarting",
      pid: undefined,
      restarts: 11,
      listens: ":15010 (xDS)",
      detail: "ended",
    },
  ];
  assert.deepEqual(formatTable(rows).split("\n"), [
    "NAME          STATE       PID  RESTARTS  LISTENS ON",
    "nats          ready       12   0         :4222",
    "xds-server-2  restarting  -    11        :15010 (xDS)",
    "  ended",
  ]);
});
