/** The plan of a router's listener: protocols of servers, and the names that clients ask for. */
import assert from "node:assert/strict";
import { it } from "node:test";
import type { GatewayServer } from "../../../snapshot/scope/gateway-merge.ts";
import { protocolOf, serverNames } from "./plan.ts";

it("the protocol is that of the server's port, in any case, and unknown without one", () => {
  const of = (port: object | undefined) => protocolOf({ server: { port } } as unknown as GatewayServer);
  assert.deepEqual([{ protocol: "HTTP2" }, { protocol: "tls" }, { protocol: "?" }, undefined].map(of), [
    "HTTP2",
    "TLS",
    "Unsupported",
    "Unsupported",
  ]);
});

it("names are sorted and without namespaces, and a wildcard for everything asks for none", () => {
  const of = (...hosts: readonly string[]) => serverNames({ hosts } as unknown as GatewayServer);
  assert.deepEqual(of("shop/b.example", "a.example", "b.example"), ["a.example", "b.example"]);
  assert.deepEqual(of("a.example", "*/*"), []);
});
