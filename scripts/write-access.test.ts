/** The files that NATS and Redis start with have the users of the tables in packages/bus and packages/state. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { busServices, natsAuthorization } from "../packages/bus/src/index.ts";
import { storeRulesOf } from "../packages/state/src/access.ts";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const read = (file: string): string => readFileSync(join(root, file), "utf8");

describe("shipped users of NATS and Redis", () => {
  it("are those of the tables", () => {
    const script = join(root, "scripts/write-access.ts");
    const { status, stdout } = spawnSync(process.execPath, [script, "--check"], { encoding: "utf8" });
    assert.equal(status, 0, stdout);
  });

  for (const [file, namespace] of [
    ["k8s/base/nats.conf", "istio-system"],
    ["k8s/overlays/beside-istiod/nats.conf", "flotilla-system"],
    ["k8s/components/replicated-servers/nats.conf", "istio-system"],
  ] as const)
    it(`${file} has no user but the services`, () => {
      const users = busServices.map((service) => ({
        service,
        identity: { user: `flotilla-${service}.${namespace}.svc` },
      }));
      assert.ok(read(file).endsWith(natsAuthorization(users)));
      assert.equal(read(file).match(/^authorization/gm)?.length, 1);
    });

  it("Redis of k8s/base has xds-server alone", () => {
    assert.equal(read("k8s/base/redis-users.txt"), `xds-server ${storeRulesOf("xds-server")}\n`);
  });
});
