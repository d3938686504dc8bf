import assert from "node:assert/strict";
import { it } from "node:test";
import { parseSettings } from "@flotilla/runtime";
import { gatewayApiSettings, ignoredGatewayApi, writesGatewayStatus } from "./gateway-api-settings.ts";

const [standard, alpha] = ["*.gateway.networking.k8s.io", "*.gateway.networking.x-k8s.io"];
const inference = "*.inference.networking.k8s.io";

const cases: readonly (readonly [name: string, env: Readonly<Record<string, string>>, ignored: readonly string[]])[] = [
  ["all that is installed", {}, []],
  ["nothing of the Gateway API", { PILOT_ENABLE_GATEWAY_API: "false" }, [standard, alpha, inference]],
  ["no experimental kinds", { PILOT_ENABLE_ALPHA_GATEWAY_API: "false" }, [alpha]],
  ["no InferencePools", { ENABLE_GATEWAY_API_INFERENCE_EXTENSION: "false" }, [inference]],
];
for (const [name, env, ignored] of cases)
  it(`a cluster is read for ${name}`, () =>
    assert.deepEqual(ignoredGatewayApi(parseSettings(gatewayApiSettings, env)), ignored));

const statuses: readonly (readonly [writes: boolean, env: Readonly<Record<string, string>>, writesStatus: boolean])[] =
  [
    [true, {}, true],
    [false, {}, false],
    [false, { PILOT_ENABLE_GATEWAY_API_STATUS: "false" }, true],
    [false, { PILOT_ENABLE_GATEWAY_API: "false" }, true],
  ];
for (const [writes, env, writesStatus] of statuses)
  it(`statuses of the Gateway API with ${JSON.stringify(env)}, PILOT_ENABLE_STATUS ${writesStatus}: ${writes}`, () =>
    assert.equal(writesGatewayStatus({ ...parseSettings(gatewayApiSettings, env), writesStatus }), writes));
