import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { describe, it } from "node:test";
import { type Ports, portsFrom } from "../layout.ts";
import { portsFree } from "./ports-free.ts";

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

  it("takes 0 as any free port", async () => {
    await portsFree(none);
  });
});
