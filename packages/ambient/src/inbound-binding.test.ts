/** The inbound binding of a Gateway: an annotation of its own or of its class, none for waypoints of the mesh itself. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { inboundBinding } from "./waypoint.ts";

const name = "ambient.istio.io/waypoint-inbound-binding";
const own = (text?: string) => ({ annotations: text === undefined ? {} : { [name]: text } });
const classOf = (controllerName: string, text?: string) => ({ ...own(text), controllerName }) as never;

const cases: readonly (readonly [string, ReturnType<typeof own>, never | undefined, object | undefined])[] = [
  ["a protocol and a port", own("PROXY/15088"), undefined, { protocol: "PROXY", port: 15_088 }],
  ["a protocol alone", own("NONE"), undefined, { protocol: "NONE", port: 0 }],
  ["that of its class", own(), classOf("example.com/c", "PROXY/15088"), { protocol: "PROXY", port: 15_088 }],
  [
    "its own before that of its class",
    own("NONE/1"),
    classOf("example.com/c", "PROXY/2"),
    { protocol: "NONE", port: 1 },
  ],
  ["none without an annotation", own(), undefined, undefined],
  ["none in the mesh's own class", own("PROXY/15088"), classOf("istio.io/mesh-controller"), undefined],
  ["none of an unknown protocol", own("HTTP/80"), undefined, undefined],
  ["none of a port that is no number", own("PROXY/x"), undefined, undefined],
  ["none of a port of six digits", own("PROXY/123456"), undefined, undefined],
];

describe("an inbound binding", () => {
  for (const [text, gateway, gatewayClass, is] of cases)
    it(`is ${text}`, () => assert.deepEqual(inboundBinding(gateway, gatewayClass), is));
});
