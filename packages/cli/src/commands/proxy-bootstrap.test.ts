import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { recordRun } from "../recorded-run.fixture.ts";

const directory = mkdtempSync(join(tmpdir(), "flotilla-proxy-"));
const file = (name: string) => join(directory, name);
const given = [
  ...["--name", "web", "-n", "shop", "--label", "app=web", "--discovery-address", "mesh.example:15012"],
  ...["--token-file", file("token"), "--root-file", file("root.pem"), "--work-dir", file("work")],
];
writeFileSync(file("token"), "a.b.c\n");
writeFileSync(file("root.pem"), "roots");

describe("flotilla proxy bootstrap", () => {
  after(() => rmSync(directory, { recursive: true }));

  it("writes a bootstrap with the token and the roots, readable by its owner alone", async () => {
    const { code, out, err } = await recordRun(["proxy", "bootstrap", ...given, "--out", file("envoy")]);
    assert.equal(code, 0, err);
    assert.match(out, new RegExp(`envoy -c ${file("envoy/envoy.json")}`));
    const { node, dynamic_resources, static_resources } = JSON.parse(readFileSync(file("envoy/envoy.json"), "utf8"));
    assert.equal(node.id, "sidecar~127.0.0.1~web.shop~shop.svc.cluster.local");
    assert.deepEqual(node.metadata.LABELS, { app: "web" });
    const [{ initial_metadata }] = dynamic_resources.ads_config.grpc_services;
    assert.deepEqual(initial_metadata, [{ key: "authorization", value: "Bearer a.b.c" }]);
    const [xds] = static_resources.clusters;
    assert.equal(xds.type, "STRICT_DNS");
    const { sni, common_tls_context } = xds.transport_socket.typed_config;
    assert.equal(sni, "istiod.istio-system.svc");
    assert.equal(common_tls_context.validation_context.trusted_ca.filename, file("envoy/root-cert.pem"));
    assert.equal(readFileSync(file("envoy/root-cert.pem"), "utf8"), "roots");
    assert.equal(statSync(file("envoy/envoy.json")).mode & 0o777, 0o600);
  });

  it("writes pilot-agent's files and environment", async () => {
    const more = ["--for", "pilot-agent", "--out", file("agent"), "-o", "json", "--status-port", "15999"];
    const { code, out, err } = await recordRun(["proxy", "bootstrap", ...given, ...more]);
    assert.equal(code, 0, err);
    assert.match(JSON.parse(out).commands[0].command, /pilot-agent proxy sidecar --domain shop\.svc\.cluster\.local/);
    const environment = readFileSync(file("agent/agent.env"), "utf8");
    assert.match(environment, /^POD_NAME='web'$/m);
    assert.match(environment, /^PROXY_CONFIG='.*"discoveryAddress":"mesh\.example:15012".*"statusPort":15999/m);
    assert.equal(readFileSync(file("agent/var/run/secrets/tokens/istio-token"), "utf8"), "a.b.c");
  });

  const mistakes: readonly (readonly [readonly string[], number, RegExp])[] = [
    [["--label", "app"], 2, /--label app is not KEY=VALUE/],
    [["--discovery-address", "mesh.example"], 2, /mesh\.example is not HOST:PORT/],
    [["--root-file", file("none.pem")], 2, /there is no .*none\.pem/],
    [["--token-file", file("none")], 2, /There is no file/],
  ];
  for (const [args, expected, text] of mistakes)
    it(`ends with ${expected} for ${args[0]} ${args[1]?.split("/").at(-1)}`, async () => {
      const { code, err } = await recordRun(["proxy", "bootstrap", ...given, ...args]);
      assert.equal(code, expected);
      assert.match(err, text);
    });

  it("ends with 4 where no control plane runs, 2 for proxy run without PILOT_AGENT", async () => {
    const where = ["--root-file", file("root.pem"), "--work-dir", file("nowhere")];
    assert.equal((await recordRun(["proxy", "bootstrap", ...where])).code, 4);
    const run = await recordRun(["proxy", "run", "--for", "pilot-agent", ...given]);
    assert.equal(run.code, 2);
    assert.match(run.err, /PILOT_AGENT names no pilot-agent/);
  });
});
