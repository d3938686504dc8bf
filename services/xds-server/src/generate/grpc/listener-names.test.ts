/** Names of listeners that programs of gRPC ask for: those of their own servers. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { serverAddress } from "./listener-names.ts";

const prefix = "xds.istio.io/grpc/lds/inbound/";
for (const { name, asked, is } of [
  { name: "an address and a port", asked: `${prefix}0.0.0.0:8080`, is: { host: "0.0.0.0", port: "8080" } },
  { name: "an address in brackets", asked: `${prefix}[::]:8080`, is: { host: "::", port: "8080" } },
  { name: "none without a port", asked: `${prefix}0.0.0.0`, is: undefined },
  { name: "none with a port that is no number", asked: `${prefix}0.0.0.0:http`, is: undefined },
  { name: "none of another listener", asked: "web.shop:8080", is: undefined },
  { name: "none in the middle of a name", asked: `a${prefix}0.0.0.0:8080`, is: undefined },
])
  describe("the address of a server", () => {
    it(`is ${name}`, () => assert.deepEqual(serverAddress(asked), is));
  });
