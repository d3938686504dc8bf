/** A real Envoy as gateway that gets the hosts of its route configuration one by one (SRDS), over both forms of xDS. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { httpCall } from "./client.ts";
import { startGatewayLab } from "./gateway/gateway-lab.ts";

const lab = await startGatewayLab({ GATEWAY_SCOPED_ROUTES_ABOVE: "1" });
after(() => lab[Symbol.asyncDispose]());
const { ports } = lab;
const http = (host: string, path = "/") => httpCall(ports.http, path, { headers: { host } });

interface ScopesDump {
  readonly dynamic_scoped_route_configs?: readonly {
    readonly scoped_route_configs: readonly { readonly name: string }[];
  }[];
}

interface SentScopes {
  readonly configs: readonly {
    readonly dynamicScopedRouteConfigs: readonly {
      readonly name: string;
      readonly scopedRouteConfigs: readonly { readonly name: string }[];
    }[];
  }[];
}

const scopes = ["secure.example", "web.example"].map((host) => `http.${ports.http}/${host}`);

for (const form of ["delta", "state of the world"] as const)
  describe(`routes by host over ${form}`, () => {
    it("answer for their hosts, with a port and without, in capital letters too, and nothing else does", async () => {
      await using gateway = await lab.startGateway(form === "delta");
      for (const host of ["web.example", `web.example:${ports.http}`])
        assert.equal((await http(host)).reply?.version, "v1", host);
      const inLua = async () =>
        [...(await gateway.stats(/lua\.(executions|errors)$/))].filter(([, count]) => count > 0);
      assert.deepEqual(await inLua(), [], "requests in lower case pass no Lua");
      for (const host of ["WEB.example", `Web.Example:${ports.http}`])
        assert.equal((await http(host)).reply?.version, "v1", host);
      assert.deepEqual(
        (await inLua()).map(([name, count]) => [name.split(".").at(-1), count]),
        [["executions", 2]],
      );
      const { status, headers } = await http("secure.example", "/a");
      assert.deepEqual([status, headers.location], [301, "https://secure.example/a"]);
      assert.equal((await http("other.example")).status, 404);
      const { configs } = (await gateway.configDump()) as unknown as { readonly configs: readonly ScopesDump[] };
      const held = configs.flatMap(({ dynamic_scoped_route_configs: found = [] }) =>
        found.flatMap((one) => one.scoped_route_configs.map(({ name }) => name)),
      );
      assert.deepEqual(held.sort(), scopes);
      const proxyID = `edge-${form === "delta" ? "delta" : "sotw"}.shop`;
      const dump = (await lab.page(`config_dump?proxyID=${proxyID}&types=srds`)) as unknown as SentScopes;
      const sent = dump.configs.flatMap(({ dynamicScopedRouteConfigs: found }) => found);
      assert.deepEqual(
        sent.map(({ name, scopedRouteConfigs }) => [name, scopedRouteConfigs.map((one) => one.name).sort()]),
        [[`http.${ports.http}`, scopes]],
      );
      const explained = await lab.page(`explain?proxyID=${proxyID}&type=srds&name=${scopes[1]}`);
      assert.match(JSON.stringify(explained["madeFrom"]), /VirtualService\/shop\/web/);
      const rejected = [...(await gateway.stats(/update_rejected/))].filter(([, count]) => count > 0);
      assert.deepEqual(rejected, []);
    });
  });
