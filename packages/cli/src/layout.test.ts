import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { defaultPorts } from "@flotilla/runtime";
import { healthPort, paths, portsFrom, portsOf, services } from "./layout.ts";

describe("ports of a control plane", () => {
  it("are twelve in a row from the first, and any for the API", () => {
    const { api, ...row } = portsFrom(1000);
    assert.equal(api, 0);
    assert.deepEqual(row, {
      ...{ xds: 1000, xdsTls: 1001, http: 1002, xdsHealth: 1003, configHealth: 1004, serviceHealth: 1005 },
      ...{ ca: 1006, caHealth: 1007, webhook: 1008, webhookHealth: 1009, console: 1010, consoleHealth: 1011 },
    });
  });

  it("are those of istiod and of the services by default", () => {
    const ports = portsFrom(undefined);
    assert.deepEqual([ports.xds, ports.xdsTls, ports.webhook], [15010, 15012, 15017]);
    assert.equal(ports.api, defaultPorts.configController.api);
  });

  it("belong to one service each", () => {
    const all = services.flatMap((service) => [portsOf[service].health, ...portsOf[service].clients]);
    assert.deepEqual(all.toSorted(), Object.keys(portsFrom(undefined)).toSorted());
    assert.deepEqual(
      services.map((service) => healthPort(service, portsFrom(1000))),
      [1007, 1004, 1005, 1003, 1009, 1011],
    );
  });
});

it("files of a control plane stand in its work directory", () => {
  const { serviceToken, ...files } = paths({ workDir: "/w" });
  assert.equal(serviceToken("ca"), "/w/tokens/ca.jwt");
  assert.deepEqual(files, {
    ...{ tokens: "/w/tokens", ca: "/w/ca", root: "/w/root-cert.pem", sealKey: "/w/seal.key", logs: "/w/logs" },
    ...{ compiledCode: "/w/compiled-code", servers: "/w/servers", credentials: "/w/credentials" },
    state: "/w/flotilla.json",
  });
});
