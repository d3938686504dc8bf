/** Parts of listeners that are there only where a setting asks for them. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { acceptedAtOnce, handshakeTimeout } from "./listener-parts.ts";

it("limits of new connections and handshakes are set where there are any", () => {
  assert.deepEqual(acceptedAtOnce({ acceptedAtOnce: undefined }), {});
  assert.deepEqual(acceptedAtOnce({ acceptedAtOnce: 3 }), { maxConnectionsToAcceptPerSocketEvent: 3 });
  assert.deepEqual(handshakeTimeout({ handshakeTimeout: undefined }), {});
  const timeout = { seconds: 5n, nanos: 0 } as NonNullable<Parameters<typeof handshakeTimeout>[0]["handshakeTimeout"]>;
  assert.deepEqual(handshakeTimeout({ handshakeTimeout: timeout }), { transportSocketConnectTimeout: timeout });
});
