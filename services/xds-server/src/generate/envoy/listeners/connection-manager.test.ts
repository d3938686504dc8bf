/** HTTP/1.1 of connection managers: the options that the mesh or the proxy asks for, and no others. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type JsonValue, typeUrl } from "@flotilla/proto";
import { inShort } from "../../../testing/kube-mesh.ts";
import { resourceOf } from "../../../testing/mesh.ts";
import { aSidecarMesh, type SidecarGiven, sidecarOf } from "../../../testing/sidecar-fields.ts";

/** The options of all connection managers within a resource, each once. */
function optionsIn(value: JsonValue | undefined): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  const inner = Object.entries(value).flatMap(([name, field]) =>
    name === "httpProtocolOptions" ? inShort(field) : optionsIn(field as JsonValue),
  );
  return [...new Set(inner)];
}

const keepsCase = { defaultConfig: { proxyHeaders: { preserveHttp1HeaderCase: true } } };
const cases: readonly (readonly [name: string, given: SidecarGiven, want: RegExp | undefined])[] = [
  ["has no options", {}, undefined],
  ["takes HTTP/1.0 by the setting", { env: { PILOT_HTTP10: "true" } }, /^\{acceptHttp10: true\}$/],
  ["takes HTTP/1.0 by the proxy", { metadata: { HTTP10: "1" } }, /^\{acceptHttp10: true\}$/],
  ["keeps the case of headers", { mesh: keepsCase }, /^\{headerKeyFormat: [^,]*preserve_case/],
  [
    "does both",
    { mesh: keepsCase, metadata: { HTTP10: "1" } },
    /^\{acceptHttp10: true, headerKeyFormat: [^,]*preserve_case/,
  ],
];

describe("HTTP/1.1 of an inbound listener", () => {
  for (const [name, given, want] of cases)
    it(name, () => {
      const options = optionsIn(resourceOf(aSidecarMesh(given), sidecarOf(given), typeUrl.listener, "virtualInbound"));
      if (want === undefined) assert.deepEqual(options, []);
      else assert.match(options.join(" "), want);
    });
});
