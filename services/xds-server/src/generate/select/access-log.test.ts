/** Access logs of a proxy: of connections, of listeners without a route, and of tunnels, from the mesh's file or its providers. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Config } from "@flotilla/model";
import type { JsonObject } from "@flotilla/proto";
import type { AccessLog } from "@flotilla/proto/envoy/config/accesslog/v3/accesslog_pb";
import { telemetryScope } from "../../snapshot/scope/telemetry.ts";
import { query } from "../../snapshot/view.ts";
import { aConfig, put } from "../../testing/mesh.ts";
import { snapshotOf } from "../../testing/snapshot.ts";
import { accessLogs } from "./access-log.ts";

const inbound = query("access-logs-of-test", (view) => view.read(accessLogs, telemetryScope("inbound")));
const filterOf = (filter: AccessLog["filter"]): string => {
  const specifier = filter?.filterSpecifier;
  if (specifier?.case === "responseFlagFilter") return specifier.value.flags.join();
  if (specifier?.case === "statusCodeFilter") return `status ${specifier.value.comparison?.value?.defaultValue}`;
  if (specifier?.case === "extensionFilter") return "expression";
  return specifier?.case === "andFilter" ? specifier.value.filters.map(filterOf).join(" and ") : "all";
};
const shown = (logs: readonly AccessLog[]) =>
  logs.map(({ name, filter }) => `${name.replace(/.*\./, "")} ${filterOf(filter)}`);

function logsOf(mesh: JsonObject, ...more: readonly Config[]) {
  const config = aConfig("MeshConfig", "istio-system", "istio", { rootNamespace: "istio-system", ...mesh });
  const { connection, listener, tunnelStart, tunnelEnd } = snapshotOf({ changes: put(config, ...more) }).read(inbound);
  return [connection, listener, tunnelStart, tunnelEnd].map((logs) => shown(logs).join("; "));
}
const telemetry = (logging: JsonObject) =>
  aConfig("Telemetry", "istio-system", "t", { accessLogging: [{ providers: [{ name: "file" }], ...logging }] });
const provider = { extensionProviders: [{ name: "file", envoyFileAccessLog: { path: "/dev/stdout" } }] };

describe("access logs", () => {
  it("are none by default", () => assert.deepEqual(logsOf({}), ["", "", "", ""]));
  it("are the mesh's file: of listeners what has no route, of tunnels failures and errors", () =>
    assert.deepEqual(logsOf({ accessLogFile: "/dev/stdout" }), ["file all", "file NR", "file UF", "file status 400"]));
  it("are not of listeners where the mesh leaves these out", () =>
    assert.deepEqual(logsOf({ accessLogFile: "/dev/stdout", disableEnvoyListenerLog: true }), [
      ...["file all", "", "file UF", "file status 400"],
    ]));
  it("are those of providers that Telemetry names, before the mesh's file", () => {
    assert.deepEqual(logsOf({ ...provider, accessLogFile: "/x" }, telemetry({})), [
      ...["file all", "file NR", "file UF", "file status 400"],
    ]);
    assert.deepEqual(logsOf({ accessLogFile: "/x" }, telemetry({})), ["", "", "", ""]);
  });
  it("are of what an expression admits", () =>
    assert.deepEqual(logsOf(provider, telemetry({ filter: { expression: "response.code >= 500" } })), [
      ...["file expression", "file NR and expression", "file UF and expression", "file status 400 and expression"],
    ]));
});
