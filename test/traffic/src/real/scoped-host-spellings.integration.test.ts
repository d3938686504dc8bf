/** A real Envoy as gateway answers hosts, however requests write them, by scopes (SRDS) as it does by one route configuration. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { httpCall } from "./client.ts";
import { startGatewayLab } from "./gateway/gateway-lab.ts";

/** As requests may write `web.example`, which the gateway serves; then unserved hosts. */
const spellings: readonly string[] = [
  ...["web.example", "WEB.EXAMPLE", "wEb.example", " web.example", "web.example:", "web.example:80", "web.example:x"],
  ...["WEB.example:65535", "web.example.", "WEB.example.", "web.example:80:80", "web..example", "*.example", "example"],
  ...["a.web.example", "WEB.example.com", "localhost", "127.0.0.1", "[::1]", "[::1]:80", ":80", ""],
];

/** Status and back end by the host as it was written. */
async function answers(scopedAbove: string): Promise<readonly (readonly [host: string, answer: string])[]> {
  await using lab = await startGatewayLab({ GATEWAY_SCOPED_ROUTES_ABOVE: scopedAbove });
  await using gateway = await lab.startGateway(true);
  const found: (readonly [string, string])[] = [];
  for (const host of spellings) {
    const { status, reply } = await httpCall(lab.ports.http, "/", { headers: { host } });
    found.push([host, `${status} ${reply?.version ?? ""}`]);
  }
  const hasScopes = JSON.stringify(await gateway.configDump()).includes("dynamic_scoped_route_configs");
  assert.equal(hasScopes, scopedAbove !== "0");
  return found;
}

it("hosts are answered by scopes as by one route configuration, however they are written", async () => {
  const whole = await answers("0");
  assert.deepEqual(await answers("1"), whole);
  assert.deepEqual(
    whole.slice(0, 8).map(([, answer]) => answer),
    Array.from({ length: 8 }, () => "200 v1"),
  );
});
