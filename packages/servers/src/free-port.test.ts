import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { freePort, freePorts } from "./free-port.ts";

const run = promisify(execFile);

describe("free ports", () => {
  it("are given once, in this process and in others that ask at the same time", async () => {
    const ask = `import { freePorts } from ${JSON.stringify(new URL("free-port.ts", import.meta.url).href)};
      const firsts = await Promise.all(Array.from({ length: 20 }, () => freePorts(12)));
      process.stdout.write(JSON.stringify(firsts), () => setTimeout(() => process.exit(), 1000));`;
    const others = [1, 2, 3].map(() => run(process.execPath, ["--input-type=module-typescript", "--eval", ask]));
    const own = await Promise.all(Array.from({ length: 20 }, () => freePorts(12)));
    const theirs = (await Promise.all(others)).flatMap(({ stdout }) => JSON.parse(stdout) as readonly number[]);
    const ports = [...own, ...theirs].flatMap((first) => Array.from({ length: 10 }, (_, i) => first + i));
    assert.equal(ports.length, 800);
    assert.equal(new Set(ports).size, 800);
  });

  it("are not those that somebody listens on", async () => {
    const next = (await freePort()) + 1;
    const server = createServer().listen(next, "127.0.0.1");
    await once(server, "listening");
    const ports = [await freePort(), await freePort()];
    assert.ok(!ports.includes(next), `${next} is in use`);
    server.close();
  });
});
