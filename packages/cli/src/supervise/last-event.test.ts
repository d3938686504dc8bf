import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { lastEvent } from "./last-event.ts";

const directory = mkdtempSync(join(tmpdir(), "flotilla-log-"));
after(() => rmSync(directory, { recursive: true, force: true }));

const info = '{"level":"info","service":"ca","msg":"health page open"}';
const failed = '{"level":"error","service":"ca","error":{"message":"[PORT_IN_USE] port 15013"},"msg":"failed"}';

const cases: readonly {
  readonly name: string;
  readonly lines: readonly string[];
  readonly text: string | undefined;
}[] = [
  {
    name: "the last error goes before later events",
    lines: [info, failed, info],
    text: "failed: [PORT_IN_USE] port 15013",
  },
  { name: "without an error the last event", lines: [info, '{"level":"info","msg":"stopped"}', ""], text: "stopped" },
  {
    name: "an error that Node printed",
    lines: [info, "TypeError: x is not a function", "    at main.ts:1"],
    text: "TypeError: x is not a function",
  },
  { name: "a line that is no JSON", lines: ["{ cut off"], text: "{ cut off" },
  { name: "an empty log", lines: [], text: undefined },
];

describe("the last event of a log", () => {
  for (const [index, { name, lines, text }] of cases.entries())
    it(name, () => {
      const file = join(directory, `${index}.log`);
      writeFileSync(file, lines.join("\n"));
      assert.equal(lastEvent(file), text);
    });

  it("events before the given byte are left out", () => {
    const file = join(directory, "from.log");
    writeFileSync(file, `${failed}\n${info}\n`);
    assert.equal(lastEvent(file, failed.length + 1), "health page open");
  });
});
