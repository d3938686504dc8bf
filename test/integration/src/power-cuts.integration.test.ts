/**
 * Real stores that lose their disk while services run or do not: afterwards what is served is what the sources have, every acknowledged write
 * over the API is there or named as lost, and ca signs with the same root. `pnpm power-cuts` draws such rounds at random.
 */
import assert from "node:assert/strict";
import { it } from "node:test";
import type { RoundPlan } from "./power-cuts/round.ts";
import { runPowerCuts } from "./power-cuts/world.ts";

const writes = { writesBefore: 2, writesAfter: 4, writesAway: 1, pauseMs: 20 };
const plans: readonly RoundPlan[] = [
  {
    ...writes,
    losses: { nats: "rewound", redis: "none" },
    stopped: ["xds-server"],
    order: ["nats", "redis", "xds-server"],
  },
  {
    ...writes,
    losses: { nats: "wiped", redis: "rewound" },
    stopped: ["ca", "config-controller", "service-controller", "xds-server"],
    order: ["xds-server", "redis", "ca", "nats", "config-controller", "service-controller"],
  },
  {
    ...writes,
    losses: { nats: "rewound and torn", redis: "torn" },
    stopped: ["config-controller"],
    order: ["nats", "config-controller", "redis"],
  },
  {
    ...writes,
    losses: { nats: "torn", redis: "wiped" },
    stopped: ["ca", "service-controller"],
    order: ["service-controller", "ca", "redis", "nats"],
  },
  {
    ...writes,
    losses: { nats: "untouched", redis: "none" },
    stopped: ["ca", "config-controller", "service-controller"],
    order: ["service-controller", "ca", "redis", "config-controller"],
  },
];

it("power cuts lose nothing silently", async () => {
  const results = await runPowerCuts({ rounds: plans.length, seed: 1, plans });
  assert.deepEqual(
    results.map(({ failure }) => failure),
    plans.map(() => undefined),
  );
});
