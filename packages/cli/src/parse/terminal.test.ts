import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { CliError } from "../errors.ts";
import { endWithReader, explainError, processTerminal } from "./terminal.ts";

describe("errors of a command", () => {
  const coded = new Error("[BUS_CLOSED] the bus is closed");
  const full = Object.assign(new Error("ENOSPC: no space left, write"), { code: "ENOSPC", syscall: "write" });
  const defect = new TypeError("x is undefined");
  for (const [name, error, code, text] of [
    ["of usage", new CliError("CLI_USAGE", "no"), 2, "[CLI_USAGE] no"],
    ["of a port in use", new CliError("CLI_PORT_TAKEN", "no"), 2, "[CLI_PORT_TAKEN] no"],
    ["of a refusal", new CliError("CLI_REFUSED", "no"), 3, "[CLI_REFUSED] no"],
    ["of silence", new CliError("CLI_NOT_RUNNING", "no"), 4, "[CLI_NOT_RUNNING] no"],
    ["of absence", new CliError("CLI_ABSENT", "no"), 1, "[CLI_ABSENT] no"],
    ["of a package", coded, 1, coded.message],
    [
      "of the host",
      full,
      2,
      `${full.message}; the disk is full: make room, or name a directory on another one (WORK_DIR, --work-dir)`,
    ],
    ["of a defect", defect, 70, defect.stack],
    ["without a stack", Object.assign(new Error("bare"), { stack: undefined }), 70, "bare"],
    ["that are none", "text", 70, "text"],
  ] as const)
    it(`${name} end with ${code}`, () => assert.deepEqual(explainError(error), { code, text }));
});

describe("the terminal of the process", () => {
  it("writes lines and texts to the output, warnings to the other", (t) => {
    const written: unknown[] = [];
    t.mock.method(process.stdout, "write", (text: unknown) => written.push("out", text) > 0);
    t.mock.method(process.stderr, "write", (text: unknown) => written.push("err", text) > 0);
    const terminal = processTerminal();
    terminal.print("a");
    terminal.write("b");
    terminal.warn("c");
    t.mock.restoreAll();
    assert.deepEqual(written, ["out", "a\n", "out", "b", "err", "c\n"]);
  });

  it("colours nothing for a pipe or under NO_COLOR, and what FORCE_COLOR asks for", async () => {
    const module = fileURLToPath(new URL("terminal.ts", import.meta.url));
    const source = `import { processTerminal } from ${JSON.stringify(module)}; const t = processTerminal(); t.print(t.paint("red", "x"));`;
    const written = async (env: NodeJS.ProcessEnv) => {
      const { NO_COLOR: _, FORCE_COLOR: __, ...others } = process.env;
      const options = { env: { ...others, ...env } };
      return (await promisify(execFile)(process.execPath, ["--input-type=module", "-e", source], options)).stdout;
    };
    assert.equal(await written({}), "x\n");
    assert.equal(await written({ NO_COLOR: "1" }), "x\n");
    assert.equal(await written({ FORCE_COLOR: "1" }), "\u001b[31mx\u001b[39m\n");
  });

  it("ends for a closed pipe alone: another failure of an output is one", (t) => {
    const outputs = [process.stdout, process.stderr];
    const before = outputs.map((output) => output.listeners("error"));
    const codes: unknown[] = [];
    t.mock.method(process, "exit", (code: unknown) => {
      codes.push(code);
      throw new Error("the process ends");
    });
    endWithReader();
    const added = outputs.map((output, i) => output.listeners("error").find((one) => !before[i]?.includes(one)));
    for (const [i, listener] of added.entries()) {
      assert.throws(() => listener?.(Object.assign(new Error("gone"), { code: "EPIPE" })), /the process ends/);
      assert.throws(() => listener?.(Object.assign(new Error("no room"), { code: "ENOSPC" })), /no room/);
      outputs[i]?.off("error", listener as () => void);
    }
    assert.deepEqual(codes, [0, 0]);
  });

  it("ends without an error when its reader closes the pipe", async () => {
    const module = fileURLToPath(new URL("terminal.ts", import.meta.url));
    const source = `import { endWithReader } from ${JSON.stringify(module)}; endWithReader(); setInterval(() => console.log("y".repeat(9999)), 1);`;
    const command = `"$0" --input-type=module -e "$1" | head -c 1; echo "\${PIPESTATUS[0]}"`;
    const { stdout, stderr } = await promisify(execFile)("bash", ["-c", command, process.execPath, source]);
    assert.deepEqual([stdout, stderr], ["y0\n", ""]);
  });
});
