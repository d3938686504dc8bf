/** Options of the commands that run a control plane, its settings of files, and those of each service. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { environmentOf } from "./environment.ts";
import type { Ports } from "./layout.ts";
import { parseEnvFile, type RunOptions, runOptionsOf } from "./options.ts";

const ports: Ports = {
  ...{ xds: 1, xdsTls: 2, http: 3, xdsHealth: 4, configHealth: 5, serviceHealth: 6 },
  ...{ ca: 7, caHealth: 8, webhook: 9, webhookHealth: 10, api: 11, console: 12, consoleHealth: 13 },
};

type Given = Parameters<typeof runOptionsOf>[0];

const options = {
  ...{ embedded: false, config: undefined, mesh: undefined, networks: undefined, workDir: "/w" },
  ...{ envFile: undefined, xdsPort: undefined, replicas: {} },
};

describe("options of a run", () => {
  it("hold the environment's settings, without those that are not set", () => {
    const { settings, workDir, firstPort } = runOptionsOf({
      options,
      env: { A: "1", B: undefined },
    } as unknown as Given);
    assert.deepEqual([settings, workDir, firstPort], [{ A: "1" }, "/w", undefined]);
  });
  it("hold those of a file before the environment's", () => {
    const directory = mkdtempSync(join(tmpdir(), "flotilla-options-"));
    const envFile = join(directory, "settings.env");
    writeFileSync(envFile, "A=2\nB=3\n");
    const given = { options: { ...options, envFile }, env: { A: "1", C: "4" } } as unknown as Given;
    assert.deepEqual(runOptionsOf(given).settings, { A: "2", B: "3", C: "4" });
    rmSync(directory, { recursive: true });
  });
  it("refuse replicas within one process", () => {
    const several = { ...options, embedded: true, replicas: { "xds-server": 2 } };
    assert.throws(() => runOptionsOf({ options: several, env: {} } as unknown as Given), { code: "CLI_USAGE" });
    const one = { ...options, embedded: true };
    assert.equal(runOptionsOf({ options: one, env: {} } as unknown as Given).embedded, true);
  });
});

describe("a file of settings", () => {
  const lines: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
    ["A=1", { A: "1" }],
    ["  export A_1 = x", {}],
    ["export A= x ", { A: "x" }],
    ["A='b c'", { A: "b c" }],
    ['A="b"', { A: "b" }],
    [`A="b'`, { A: `"b'` }],
    [`A='`, { A: "'" }],
    ["A=b=c", { A: "b=c" }],
    ["# A=1", {}],
    ["1A=1", {}],
    ["A=1\nB=2\nA=3", { A: "3", B: "2" }],
  ];
  for (const [text, want] of lines) it(JSON.stringify(text), () => assert.deepEqual(parseEnvFile(text), want));
});

describe("settings of a service on one host", () => {
  const run: RunOptions = {
    ...{ embedded: false, config: "/c", mesh: "/m", networks: "/n", settings: { HEALTH_HOST: "::", X: "1" } },
    ...{ firstPort: undefined, workDir: "/w" },
  };
  const shared = { busUrl: "b", storeUrl: "s", settingsOf: (name: string) => ({ BUS_URL: `nats://${name}` }) };
  const of = (name: Parameters<typeof environmentOf>[0]["name"], given = run) =>
    environmentOf({ name, replica: `${name}-2`, ports }, given, "/w", shared);

  it("have what all have in common, before which what is set does not count", () => {
    const found = of("ca", { ...run, settings: { HEALTH_HOST: "::", WORK_DIR: "/elsewhere" } });
    assert.deepEqual([found["HEALTH_HOST"], found["WORK_DIR"], found["BUS_URL"]], ["::", "/w", "nats://ca"]);
    assert.equal(found["CA_ADDRESS"], `127.0.0.1:${ports.ca}`);
    assert.equal(found["KUBERNETES_SERVICE_HOST"], "");
    assert.equal(found["HEALTH_PORT"], String(ports.caHealth));
  });
  it("name the replica where it holds something under its name", () => {
    const names = (["ca", "webhook", "config-controller", "service-controller", "xds-server"] as const).map(
      (name) => of(name)["POD_NAME"],
    );
    assert.deepEqual(names, [undefined, undefined, "config-controller-2", "service-controller-2", "xds-server-2"]);
  });
  it("name the files of the mesh to those who read them", () => {
    const config = of("config-controller");
    assert.deepEqual(
      [config["CONFIG_DIR"], config["MESH_CONFIG_FILE"], config["MESH_NETWORKS_FILE"]],
      ["/c", "/m", "/n"],
    );
    assert.equal(of("service-controller")["CONFIG_DIR"], "/c");
    const bare = { ...run, config: undefined, mesh: undefined, networks: undefined };
    for (const name of ["config-controller", "service-controller"] as const)
      for (const setting of ["CONFIG_DIR", "MESH_CONFIG_FILE", "MESH_NETWORKS_FILE"])
        assert.equal(Object.hasOwn(of(name, bare), setting), false, `${name} ${setting}`);
  });
  it("keep ports to this host", () => {
    assert.deepEqual([of("ca")["CA_HOST"], of("ca")["CA_PORT"]], ["127.0.0.1", String(ports.ca)]);
    const xds = of("xds-server");
    assert.deepEqual([xds["XDS_HOST"], xds["XDS_PORT"]], ["127.0.0.1", String(ports.xds)]);
    assert.deepEqual([xds["XDS_TLS_PORT"], xds["HTTP_PORT"]], [String(ports.xdsTls), String(ports.http)]);
    assert.equal(xds["DEBUG_URL"], `http://127.0.0.1:${ports.xdsHealth}`);
    assert.equal(of("webhook")["WEBHOOK_PORT"], String(ports.webhook));
    assert.equal(of("config-controller")["API_PORT"], String(ports.api));
  });
});
