/** `/debug/recent` of config-controller: bounded, the latest first. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { typeUrl } from "@flotilla/proto";
import { recentPage } from "./recent.ts";

const fleet = { total: 9, synced: 7, sending: 1, rejected: 1 };

const web = (): readonly string[] => ["VirtualService/shop/web"];

function page({ generations = 1, objectsOf = web as (generation: number) => readonly string[], refusals = 0 } = {}) {
  const history = Array.from({ length: generations }, (_, i) => ({
    ...{ number: i, epoch: "e", position: i + 1, part: 0, parts: 1 },
    cause: { publisher: "config-controller", epoch: "e", revision: 1, source: "directory", eventTimeMs: 0 },
    objects: objectsOf(i).map((object) => ({ object, op: "changed" as const })),
  }));
  const handler = recentPage({
    generation: () => generations,
    ledger: { history: () => history as never },
    statuses: {
      distributionOf: ({ name }) =>
        name === "none"
          ? undefined
          : { live: 2, concerned: 3, refusals: [{} as never], isPrecise: true, behind: [], replicas: 1 },
    },
    distributions: {
      fleet: () => fleet,
      refusals: () =>
        Array.from({ length: refusals }, (_, i) => ({
          ...{ proxy: "p.shop", typeUrl: typeUrl.route, resources: [], message: "no", position: 1, atMs: i },
          objects: [`VirtualService/shop/v${i}`],
        })),
    },
  });
  return (handler({} as never) as { json: Record<string, never> }).json as unknown as {
    readonly generation: number;
    readonly generations: readonly { readonly generation: number; readonly by: string }[];
    readonly arrivals: readonly object[];
    readonly rejections: readonly { readonly object: string }[];
    readonly rejectionCount: number;
    readonly fleet: object;
  };
}

it("shows the last generations with how far their objects have come", () => {
  const recent = page({ generations: 12 });
  assert.deepEqual(
    recent.generations.map(({ generation }) => generation),
    [12, 11, 10, 9, 8, 7, 6, 5, 4, 3],
  );
  assert.deepEqual([recent.generation, recent.generations[0]?.by, recent.fleet], [12, "directory", fleet]);
  assert.deepEqual(recent.arrivals, [{ object: "VirtualService/shop/web", live: 2, concerned: 3, rejected: 1 }]);
});

it("leaves objects out that have no status, or of which nothing is known", () => {
  assert.deepEqual(page({ objectsOf: () => ["Secret/shop/key", "VirtualService/shop/none"] }).arrivals, []);
});

it("shows how far the first hundred objects have come", () => {
  const objectsOf = (generation: number) =>
    Array.from({ length: 15 }, (_, i) => `VirtualService/shop/v${generation}-${i}`);
  assert.equal(page({ generations: 10, objectsOf }).arrivals.length, 100);
});

it("counts rejections beyond those that it shows, the latest first", () => {
  const recent = page({ refusals: 60 });
  assert.deepEqual([recent.rejections.length, recent.rejectionCount], [50, 60]);
  assert.equal(recent.rejections[0]?.object, "VirtualService/shop/v59");
});
