/** The observers of a replica: what they report while answers are coming in, and when nothing is. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { createMetrics } from "@flotilla/runtime";
import { ConnectedStreams } from "../serve/connected-streams.ts";
import { readSettings, type XdsService } from "../settings.ts";
import { applyOptionsOf } from "../testing/apply-options.ts";
import { aConfig, aService, put } from "../testing/mesh.ts";
import { ServedMesh } from "./mesh.ts";
import { createObservers } from "./observers.ts";

it("the distribution waits while deliveries are open; changes reach the reports and the pages", () => {
  const settings = readSettings({});
  const mesh = new ServedMesh(settings);
  const deliveries = { open: 0 };
  const observers = createObservers(
    { settings, metrics: createMetrics() } as unknown as XdsService,
    {
      ...{ replica: "r", mesh, connected: new ConnectedStreams() },
      identity: { pageCallers: {} },
      snapshot: { store: {}, reportId: "id" },
      flow: { deliveries, arrivals: { of: () => undefined } },
      ingest: { position: 0, epoch: "epoch", changes: () => [] },
    } as never,
  );
  const apply = (position: number) => {
    const changes = put(aService("web", "shop"), aConfig("VirtualService", "shop", "web", { hosts: ["web"] }));
    mesh.source.apply(changes, applyOptionsOf(changes, position));
  };
  const { distribution, debug } = observers;
  apply(1);
  const first = distribution.next();
  assert.deepEqual([first?.replica, first?.epoch, first?.position], ["r", "epoch", 1]);
  assert.equal(debug.lastChange("config/VirtualService/shop/web"), 1);
  apply(2);
  deliveries.open = 1;
  assert.equal(distribution.next(), undefined);
  deliveries.open = 0;
  assert.equal(distribution.next()?.position, 2);
});
