import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, openSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { hostFailure } from "./host-failure.ts";

function thrownBy(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}

describe("failures of the host", () => {
  it("name a full disk", { skip: !existsSync("/dev/full") && "this host has no /dev/full" }, () => {
    const error = thrownBy(() => writeSync(openSync("/dev/full", "w"), "text"));
    assert.match(hostFailure(error) ?? "", /^ENOSPC: .*; the disk is full: make room/);
    assert.match(hostFailure(new Error("[STORE] not written", { cause: error })) ?? "", /the disk is full/);
  });

  it("name an address in use", async () => {
    const holder = createServer().listen(0, "127.0.0.1");
    await once(holder, "listening");
    const other = createServer().listen((holder.address() as AddressInfo).port, "127.0.0.1");
    const [error] = await once(other, "error");
    holder.close();
    assert.match(hostFailure(error) ?? "", /^listen EADDRINUSE.*; the address is in use: end the process/);
  });

  it("name too few descriptors, of a process that really has too few", () => {
    const module = fileURLToPath(new URL("host-failure.ts", import.meta.url));
    const source = `import { openSync } from "node:fs"; import { hostFailure } from ${JSON.stringify(module)};
      try { for (;;) openSync("/dev/null", "r"); } catch (error) { console.log(hostFailure(error)); }`;
    const shell = ['ulimit -n 64; exec "$0" --input-type=module -e "$1"', process.execPath, source];
    const { stdout } = spawnSync("bash", ["-c", ...shell], { encoding: "utf8" });
    assert.match(stdout, /^EMFILE: .*; too few file descriptors for this process: raise the limit \(ulimit -n/);
  });

  for (const code of ["EROFS", "EACCES", "EPERM", "EDQUOT", "ENFILE"])
    it(`have advice for ${code}`, () => {
      const error = Object.assign(new Error(`${code}: refused, open '/x'`), { code, syscall: "open" });
      assert.match(hostFailure(error) ?? "", /^E\w+: refused, open '\/x'; .+/);
    });

  it("are no errors of programs", () => {
    assert.equal(hostFailure(Object.assign(new Error("no"), { code: "EACCES" })), undefined);
    assert.equal(hostFailure(Object.assign(new Error("gone"), { code: "ENOENT", syscall: "open" })), undefined);
    assert.equal(hostFailure("EACCES"), undefined);
  });
});
