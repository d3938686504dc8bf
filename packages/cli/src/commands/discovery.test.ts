/** `flotilla discovery`: the flags of pilot-discovery become settings and ports of the control plane that it runs. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { noopLogger } from "@flotilla/runtime";
import { runDiscovery } from "./discovery.ts";

it("runs the control plane that its flags ask for, and names flags that change nothing", async () => {
  const lines: string[] = [];
  const log = {
    ...noopLogger,
    info: (msg: string) => void lines.push(msg),
    warn: (msg: string) => void lines.push(msg),
  };
  const served: unknown[] = [];
  const serve: Parameters<typeof runDiscovery>[1] = async ({ command, options: { settings, workDir, ports } }) => {
    served.push({ command, settings, workDir, xds: ports?.xds });
    return 3;
  };
  const options = { workDir: "/var/flotilla", grpcAddr: "127.0.0.1:17010", domain: "mesh.example", profile: "true" };
  assert.equal(await runDiscovery({ options, env: { POD_NAME: "istiod-1" } } as never, serve, log), 3);
  const settings = { POD_NAME: "istiod-1", DOMAIN_SUFFIX: "mesh.example" };
  assert.deepEqual(served, [{ command: "discovery", settings, workDir: "/var/flotilla", xds: 17010 }]);
  assert.match(lines.join("\n"), /^--profile has no effect: .*\neffective settings$/);
});
