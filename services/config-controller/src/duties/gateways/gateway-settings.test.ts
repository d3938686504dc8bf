import assert from "node:assert/strict";
import { it } from "node:test";
import { deployedClasses, knownClasses } from "./gateway-settings.ts";

type Settings = Parameters<typeof deployedClasses>[0];
const settings = (more: Partial<Settings>) =>
  ({
    gatewayClass: "own",
    gatewayController: "own/controller",
    multiNetworkGateways: false,
    udpRoutes: true,
    ...more,
  }) as Settings;

it("classes with a status are those of the settings", () => {
  const { defaultClass, defaultController, udpRoutes, multiNetwork } = knownClasses(
    settings({ multiNetworkGateways: true }),
  );
  assert.deepEqual([defaultClass, defaultController, udpRoutes, multiNetwork], ["own", "own/controller", true, true]);
  const other = knownClasses(settings({ udpRoutes: false }));
  assert.deepEqual([other.udpRoutes, other.multiNetwork], [false, false]);
});

for (const [ambient, deploysWaypoints, ambientMultiNetwork, expected] of [
  [false, true, true, [false, false]],
  [true, true, false, [true, false]],
  [true, false, true, [false, true]],
  [true, true, true, [true, true]],
] as const)
  it(`waypoints and gateways between networks are deployed with ${[ambient, deploysWaypoints, ambientMultiNetwork]}`, () => {
    const classes = deployedClasses(settings({ ambient, deploysWaypoints, ambientMultiNetwork }));
    assert.deepEqual([classes.waypoints, classes.ambientMultiNetwork, classes.defaultClass], [...expected, "own"]);
  });
