import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { settingsTables } from "../../../../scripts/settings-tables.ts";
import type { ServiceName } from "../layout.ts";
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

const addresses: readonly (readonly [given: string, host: string, port: number])[] = [
  [":16010", "0.0.0.0", 16_010],
  ["*:16010", "0.0.0.0", 16_010],
  ["127.0.0.1:16010", "127.0.0.1", 16_010],
  ["[::1]:16010", "::1", 16_010],
  ["[]:16010", "0.0.0.0", 16_010],
  ["a.example:65535", "a.example", 65_535],
  ["a.example:0", "a.example", 0],
  ["", "0.0.0.0", 15_010],
];
for (const [given, host, port] of addresses)
  test(`xDS without TLS listens at ${JSON.stringify(given)}`, () => {
    const { options, effective } = plan({ grpcAddr: given });
    assert.deepEqual([options.binding?.("xds-server")["XDS_HOST"], options.ports?.xds], [host, port]);
    assert.equal(effective["grpcAddr"], `${host}:${port}`);
  });

test("two flags may name one host for the setting that they share, and any free port each", () => {
  const { options } = plan({ grpcAddr: "10.0.0.1:0", secureGRPCAddr: "10.0.0.1:0" });
  assert.deepEqual([options.ports?.xds, options.ports?.xdsTls], [0, 0]);
});

test("addresses belong to xds-server and webhook, pages without a known port to the others", () => {
  const { options } = plan({ grpcAddr: "10.0.0.1:15010", httpsAddr: "10.0.0.2:15017" });
  const of = (service: ServiceName) => options.binding?.(service);
  assert.deepEqual(of("xds-server"), { XDS_HOST: "10.0.0.1", HEALTH_HOST: "0.0.0.0" });
  assert.deepEqual(of("webhook"), { WEBHOOK_HOST: "10.0.0.2", INTROSPECTION_PORT: "0" });
  assert.deepEqual(of("ca"), { INTROSPECTION_PORT: "0" });
});

test("a kubeconfig that is named counts more than the cluster around the process", () => {
  const cluster = { KUBERNETES_SERVICE_HOST: "10.0.0.1" };
  const hostOf = (given: FlagValues, env: Readonly<Record<string, string>>) =>
    plan(given, env).options.binding?.("ca")["KUBERNETES_SERVICE_HOST"];
  assert.equal(hostOf({}, cluster), "10.0.0.1");
  assert.equal(hostOf({ kubeconfig: "/k" }, cluster), undefined);
  assert.equal(hostOf({}, {}), undefined);
});

const logs: readonly (readonly [given: string | boolean | undefined, level?: string | undefined, scopes?: string])[] = [
  ["debug", "debug"],
  ["all:info", "info"],
  ["default:fatal", "error"],
  ["none", "silent"],
  ["ads:debug, ca : warn", undefined, "ads:debug,ca:warn"],
  ["info,all:error,ads:debug", "error", "ads:debug"],
  ["", undefined],
  [true, undefined],
  [undefined, undefined],
];
for (const [given, level, scopes] of logs)
  test(`--log_output_level=${given} sets ${level ?? "no level"} and ${scopes ?? "no scopes"}`, () => {
    const { LOG_LEVEL, LOG_SCOPE_LEVELS } = plan({ log_output_level: given }).options.settings;
    assert.deepEqual([LOG_LEVEL, LOG_SCOPE_LEVELS], [level, scopes]);
  });

test("files of the mesh are read where istiod reads them, unless settings name others", () => {
  const [directory, before] = [mkdtempSync(join(tmpdir(), "discovery-")), process.cwd()];
  mkdirSync(join(directory, "etc/istio/config"), { recursive: true });
  writeFileSync(join(directory, "etc/istio/config/mesh"), "");
  const mesh = (given: FlagValues, env: Readonly<Record<string, string>> = {}) => {
    const { MESH_CONFIG_FILE, MESH_NETWORKS_FILE } = plan(given, env).options.settings;
    return [MESH_CONFIG_FILE, MESH_NETWORKS_FILE];
  };
  try {
    process.chdir(directory);
    assert.deepEqual(mesh({}), ["./etc/istio/config/mesh", undefined]);
    assert.deepEqual(mesh({ meshConfig: "/other" }), ["/other", undefined]);
    assert.deepEqual(mesh({}, { MESH_CONFIG_FILE: "/third" }), ["/third", undefined]);
  } finally {
    process.chdir(before);
    rmSync(directory, { recursive: true });
  }
});

test("configuration comes of a cluster unless a directory is named", () => {
  const of = (configDir: string | undefined) => plan({ configDir }).options.config;
  assert.deepEqual([of(undefined), of(""), of("/mesh")], [undefined, undefined, "/mesh"]);
});

const refused: readonly (readonly [name: string, given: FlagValues, says: RegExp])[] = [
  [
    "two hosts of one setting",
    { grpcAddr: "a:1", secureGRPCAddr: "b:2" },
    /--grpcAddr and --secureGRPCAddr name diff.*XDS_HOST/,
  ],
  ["one port of two flags", { grpcAddr: ":15012" }, /--grpcAddr and --secureGRPCAddr are both port 15012/],
  [
    "the port of another service",
    { grpcAddr: ":15013" },
    /--grpcAddr and the port ca of another service are both port 15013: change one of them/,
  ],
  ["a port above the highest", { grpcAddr: ":65536" }, /--grpcAddr=:65536 is no address/],
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
