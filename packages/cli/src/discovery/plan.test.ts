import assert from "node:assert/strict";
import { test } from "node:test";
import { settingsTables } from "../../../../scripts/settings-tables.ts";
import { discoveryFlags } from "./flags.ts";
import { type FlagValues, planDiscovery } from "./plan.ts";

const plan = (given: FlagValues, env: Readonly<Record<string, string>> = {}) => planDiscovery(given, env, "/work");

test("flags become settings, ports and addresses", () => {
  const { options, notes, effective } = plan(
    {
      ...{ clusterID: "east", keepaliveInterval: "45s", namespace: "mesh", configDir: "/mesh" },
      ...{ grpcAddr: "127.0.0.1:16010", secureGRPCAddr: "127.0.0.1:16012", monitoringAddr: ":16014" },
      ...{ log_output_level: "default:warn,ads:debug", shutdownDuration: "30s", vklog: "9" },
      log_target: "stdout,/var/log/mesh.log",
      keepaliveMaxServerConnectionAge: "2562047h47m16.854775807s",
    },
    { KUBERNETES_SERVICE_HOST: "10.0.0.1", PILOT_HTTP10: "true" },
  );
  assert.deepEqual(options.settings, {
    ...{ KUBERNETES_SERVICE_HOST: "10.0.0.1", PILOT_HTTP10: "true", CLUSTER_ID: "east", POD_NAMESPACE: "mesh" },
    ...{ XDS_KEEPALIVE_INTERVAL: "45s", LOG_LEVEL: "warn", LOG_SCOPE_LEVELS: "ads:debug", SHUTDOWN_DURATION: "30s" },
    LOG_TARGET: "stdout,/var/log/mesh.log",
  });
  assert.equal(options.config, "/mesh");
  assert.deepEqual([options.ports?.xds, options.ports?.xdsTls, options.ports?.xdsHealth], [16010, 16012, 16014]);
  assert.deepEqual(options.binding?.("xds-server"), {
    ...{ XDS_HOST: "127.0.0.1", HEALTH_HOST: "0.0.0.0", KUBERNETES_SERVICE_HOST: "10.0.0.1" },
  });
  assert.equal(options.binding?.("ca")["HEALTH_HOST"], undefined);
  assert.equal(effective["httpsAddr"], "0.0.0.0:15017");
  assert.deepEqual(notes, ["--vklog has no effect: there is no such client here"]);
});

const refused: readonly (readonly [name: string, given: FlagValues, says: RegExp])[] = [
  [
    "two hosts of one setting",
    { grpcAddr: "a:1", secureGRPCAddr: "b:2" },
    /--grpcAddr and --secureGRPCAddr name diff.*XDS_HOST/,
  ],
  ["one port of two flags", { grpcAddr: ":15012" }, /--grpcAddr and --secureGRPCAddr are both port 15012/],
  ["no address", { httpAddr: "8080" }, /--httpAddr=8080 is no address such as :15010/],
  ["no log level", { log_output_level: "all:loud" }, /--log_output_level=all:loud: loud is none of debug, info/],
];
for (const [name, given, says] of refused)
  test(`refuses ${name}`, () => assert.throws(() => plan(given), { code: "CLI_USAGE", message: says }));

test("each flag with an effect names settings that a service has", () => {
  const known = new Set(Object.values(settingsTables).flatMap((table) => Object.values(table).map(({ env }) => env)));
  const named = discoveryFlags.flatMap(({ effect }) =>
    effect.type === "setting" ? [effect.setting] : effect.type === "address" ? [effect.hostSetting] : [],
  );
  assert.ok(named.length > 15);
  assert.deepEqual(
    named.filter((setting) => !known.has(setting)),
    [],
  );
});
