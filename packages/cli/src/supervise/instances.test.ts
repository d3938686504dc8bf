import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { portsFrom } from "../layout.ts";
import { planInstances } from "./instances.ts";

function portsFrom30000(): () => Promise<number> {
  let next = 30_000;
  return async () => next++;
}

describe("the instances of a control plane", () => {
  const layout = { ports: portsFrom(undefined) };

  it("bind the known ports themselves where each service has one", async () => {
    const { instances, fronts } = await planInstances(layout, {}, portsFrom30000());
    assert.deepEqual(
      instances.map(({ name, replica, ports }) => [name, replica, ports === layout.ports]),
      ["ca", "config-controller", "service-controller", "xds-server", "webhook"].map((name) => [name, name, true]),
    );
    assert.deepEqual(fronts, []);
  });

  it("stand behind the known ports where a service has several", async () => {
    const { instances, fronts } = await planInstances(layout, { "xds-server": 2 }, portsFrom30000());
    const replicas = instances.filter(({ name }) => name === "xds-server");
    assert.deepEqual(
      replicas.map(({ replica, ports }) => [replica, ports.xdsHealth, ports.xds, ports.xdsTls, ports.http]),
      [
        ["xds-server-1", 15014, 30_000, 30_001, 30_002],
        ["xds-server-2", 30_003, 30_004, 30_005, 30_006],
      ],
    );
    assert.deepEqual(fronts, [
      { name: "xds-server", port: 15010, targets: [30_000, 30_004] },
      { name: "xds-server", port: 15012, targets: [30_001, 30_005] },
      { name: "xds-server", port: 8080, targets: [30_002, 30_006] },
    ]);
    assert.equal(instances.find(({ name }) => name === "ca")?.ports.xds, 15010);
  });

  it("have no front for a port that each replica chooses itself", async () => {
    const { fronts } = await planInstances({ ports: portsFrom(16_000) }, { "config-controller": 2 }, portsFrom30000());
    assert.deepEqual(fronts, []);
  });
});
