import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { describe, it } from "node:test";
import { type Ports, portsFrom } from "../layout.ts";
import { addressesFree, portsFree } from "./ports-free.ts";

const known = portsFrom(1);
const none: Ports = { ...known, ...Object.fromEntries(Object.keys(known).map((name) => [name, 0])) };

describe("the check of ports", () => {
  it("names the port, the process that holds it and the option that moves it", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    try {
      await assert.rejects(portsFree({ ...none, caHealth: port }), {
        code: "CLI_PORT_TAKEN",
        message: new RegExp(
          `port ${port} on 127.0.0.1 is in use by process ${process.pid} \\(.*node.*\\): .*--xds-port`,
        ),
      });
    } finally {
      other.close();
    }
    await once(other, "close");
    await portsFree({ ...none, caHealth: port });
  });

  it("shortens a long command line of the holder", async () => {
    const program =
      "require('net').createServer().listen(0, '127.0.0.1', function () { console.log(this.address().port) })";
    const child = spawn(process.execPath, ["-e", program, "a".repeat(200)], { stdio: ["ignore", "pipe", "ignore"] });
    try {
      const [port] = (await once(child.stdout, "data")) as [Buffer];
      await assert.rejects(portsFree({ ...none, xds: Number(port) }), ({ message }: Error) => {
        const [, commandLine = ""] = /by process \d+ \((.*)\): /.exec(message) ?? [];
        assert.match(commandLine, /node.*\.\.\.$/);
        assert.equal(commandLine.length, 120);
        return true;
      });
    } finally {
      child.kill();
    }
  });

  it("names an address that this host does not have, with the code of the error and an advice", () =>
    assert.rejects(addressesFree([{ host: "192.0.2.1", port: 1 }], "take another"), {
      code: "CLI_PORT_TAKEN",
      message: /port 1 on 192\.0\.2\.1 is not available \(EADDRNOTAVAIL\): take another/,
    }));

  it("takes 0 as any free port", async () => {
    await portsFree(none);
  });
});
