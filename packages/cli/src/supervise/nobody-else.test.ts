import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import { portsFrom } from "../layout.ts";
import { nobodyElse } from "./nobody-else.ts";

describe("a control plane's ports", () => {
  it("are refused while somebody else answers there as a service does", async () => {
    const other = createServer((_, response) => response.end(JSON.stringify({ ready: true }))).listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    const ports = { ...portsFrom(1), caHealth: port };
    await assert.rejects(nobodyElse({ ports }, 0), { code: "CLI_PORT_TAKEN", message: new RegExp(`${port} \\(ca\\)`) });

    const waiting = nobodyElse({ ports });
    other.close().closeAllConnections();
    await waiting;
  });
});
