/** Connections to 15013 that finish their handshake and ask nothing: the oldest of an address make room, and others get their certificates. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { connect } from "node:tls";
import { until } from "@flotilla/runtime";
import { openIdle } from "@flotilla/testkit";
import { startCa } from "./main.fixture.ts";
import { openClient, sendOver } from "./raw-request.fixture.ts";

const most = 2_048;
const beyond = 22;

it("connections without a request are 2,048 of an address at most", { timeout: 120_000 }, async () => {
  await using ca = await startCa();
  const at = { port: ca.grpc, host: "127.0.0.1", ALPNProtocols: ["h2"], rejectUnauthorized: false };
  const client = openClient(ca);
  try {
    using idle = await openIdle(() => connect(at), most + beyond, { event: "secureConnect", atOnce: 30 });
    await until(() => idle.left() <= most, { withinMs: 60_000, what: "the bound", everyMs: 5 });
    assert.equal(idle.left(), most);
    assert.equal((await sendOver(client, { token: await ca.mint("shop", "web") })).length > 0, true);
    const text = await (await fetch(`http://127.0.0.1:${ca.health}/metrics`)).text();
    const [, closed] = /^ca_idle_connections_closed_total (\d+)$/m.exec(text) ?? [];
    // One more for the client, which stays after its answer.
    assert.equal(Number(closed), beyond + 1);
  } finally {
    client.close();
  }
});
