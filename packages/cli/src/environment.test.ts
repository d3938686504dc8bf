/** The settings of services on one host: their own ports and files, and what may change them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { environmentOf } from "./environment.ts";
import { portsFrom, type ServiceName } from "./layout.ts";
import type { RunOptions } from "./options.ts";

const ports = portsFrom(20_000);
const shared = {
  ...{ busUrl: "nats://bus", storeUrl: "redis://store" },
  settingsOf: (service: ServiceName) => ({ NATS_URL: `nats://${service}@bus` }),
};
const none: RunOptions = {
  ...{ embedded: false, config: undefined, mesh: undefined, networks: undefined },
  ...{ settings: {}, firstPort: undefined, workDir: "/work" },
};
const of = (name: ServiceName, given: Partial<RunOptions> = {}) =>
  environmentOf({ name, replica: `${name}-2`, ports }, { ...none, ...given }, "/work", shared);

const common = (name: ServiceName, health: number) => ({
  ...{ HEALTH_HOST: "127.0.0.1", HEALTH_PORT: String(health), WORK_DIR: "/work", SEAL_KEY_FILE: "/work/seal.key" },
  ...{ CA_ADDRESS: "127.0.0.1:20006", KUBERNETES_SERVICE_HOST: "", NATS_URL: `nats://${name}@bus` },
});
const page = { INTROSPECTION_PORT: "0" };

describe("the settings of a service on one host", () => {
  const cases: readonly (readonly [ServiceName, Readonly<Record<string, string>>])[] = [
    ["ca", { ...common("ca", 20_007), ...page, CA_HOST: "127.0.0.1", CA_PORT: "20006" }],
    [
      "config-controller",
      { ...common("config-controller", 20_004), ...page, POD_NAME: "config-controller-2", API_PORT: "0" },
    ],
    ["service-controller", { ...common("service-controller", 20_005), ...page, POD_NAME: "service-controller-2" }],
    [
      "xds-server",
      {
        ...{ ...common("xds-server", 20_003), POD_NAME: "xds-server-2", XDS_HOST: "127.0.0.1", XDS_PORT: "20000" },
        ...{ XDS_TLS_PORT: "20001", HTTP_PORT: "20002", DEBUG_URL: "http://127.0.0.1:20003" },
      },
    ],
    ["webhook", { ...common("webhook", 20_009), ...page, WEBHOOK_HOST: "127.0.0.1", WEBHOOK_PORT: "20008" }],
    [
      "console",
      {
        ...{ ...common("console", 20_011), ...page, POD_NAME: "console-2" },
        ...{ CONSOLE_HOST: "127.0.0.1", CONSOLE_PORT: "20010" },
      },
    ],
  ];
  for (const [name, expected] of cases)
    it(`${name} has its ports, its files and its way to ca`, () => assert.deepEqual(of(name), expected));

  it("name the files of the mesh to the controllers that read them, where they are given", () => {
    const given = { config: "/mesh", mesh: "/mesh.yaml", networks: "/networks.yaml" };
    const files = ({ CONFIG_DIR, MESH_CONFIG_FILE, MESH_NETWORKS_FILE }: Readonly<Record<string, string>>) => [
      CONFIG_DIR,
      MESH_CONFIG_FILE,
      MESH_NETWORKS_FILE,
    ];
    assert.deepEqual(files(of("config-controller", given)), ["/mesh", "/mesh.yaml", "/networks.yaml"]);
    assert.deepEqual(files(of("service-controller", given)), ["/mesh", undefined, undefined]);
    assert.deepEqual(files(of("xds-server", given)), [undefined, undefined, undefined]);
    assert.ok(!("MESH_CONFIG_FILE" in of("config-controller", { config: "/mesh" })));
  });

  it("open the pages where a setting does, and keep the ports that the command line chose", () => {
    const found = of("ca", { settings: { HEALTH_HOST: "0.0.0.0", CA_PORT: "1", CA_HOST: "0.0.0.0", OTHER: "x" } });
    const { HEALTH_HOST, CA_PORT, CA_HOST, OTHER } = found;
    assert.deepEqual([HEALTH_HOST, CA_PORT, CA_HOST, OTHER], ["0.0.0.0", "20006", "127.0.0.1", "x"]);
  });

  it("are bound to other addresses by the flags of istiod", () => {
    const binding = (service: ServiceName) => ({ [`HOST_OF_${service}`]: "10.0.0.1", XDS_HOST: "0.0.0.0" });
    const found = of("xds-server", { binding });
    assert.deepEqual([found["XDS_HOST"], found["HOST_OF_xds-server"]], ["0.0.0.0", "10.0.0.1"]);
  });
});
