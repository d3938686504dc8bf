/** The status of objects put together: reports that come over the bus change it, and wake who writes it. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { connectBus, createPublisher } from "@flotilla/bus";
import {
  distributionBucket,
  distributionTtlMs,
  encodeDistribution,
  encodeProgress,
  progressBucket,
} from "@flotilla/model";
import { noopLogger, until } from "@flotilla/runtime";
import type { SourceProblem } from "@flotilla/sources";
import { PublishedConfig } from "../follow/published-config.ts";
import { aServiceEntry } from "../store/config-store.conformance.ts";
import { openStatus } from "./open-status.ts";

const soon = (what: string) => ({ withinMs: 20_000, what, everyMs: 2 });

it("the status of an object follows reports of xds-server, progress of service-controller and refusals", async () => {
  const stop = new AbortController();
  await using bus = await connectBus({ url: "embedded:open-status", clientName: "t", log: noopLogger }, stop.signal);
  const config = aServiceEntry("shop", "a", "a.example");
  const common = { bus, seal: undefined, log: noopLogger };
  const publisher = createPublisher({ ...common, publisher: "config-controller", nowMs: Date.now });
  await publisher.synchronize([{ type: "config", op: "put", key: config.key, value: config }]);
  const published = new PublishedConfig(common);
  const refused: SourceProblem[] = [];
  const status = openStatus({
    ...{ bus, published, refused: () => refused, conflicts: () => [], placeOf: () => undefined, log: noopLogger },
    analysis: { isOn: false, maxServices: 0 },
  });
  await published.begin();
  const { feed } = status;
  let calls = 0;
  const end = feed.onChanged(() => void calls++);
  const running = Promise.all([published.follow(stop.signal), status.run(stop.signal)]);
  try {
    const object = "ServiceEntry/shop/a";
    const distribution = async () => (await feed.statusOf(object))?.inForce?.distribution;
    assert.equal(await feed.statusOf("no object"), undefined);
    assert.equal(feed.hasReports(), false);
    assert.equal((await distribution())?.replicas, 0);

    const { epoch, position } = published;
    const reports = await bus.keyValue(distributionBucket, { ttlMs: distributionTtlMs });
    const finding = { object, message: "x is twice there", metric: "m" };
    const report = { replica: "r", epoch, position, answered: [[position, 3]], behind: [], objects: {}, refusals: [] };
    await reports.put("r", encodeDistribution({ ...report, findings: [finding] } as never));
    await until(() => feed.hasReports(), soon("the report"));
    assert.deepEqual([...feed.takeChanged()], [object]);
    assert.deepEqual(
      (await feed.statusOf(object))?.warnings.map(({ reason }) => reason),
      ["x is twice there"],
    );
    assert.equal((await distribution())?.live, 0, "service-controller has not read it");

    await (await bus.keyValue(progressBucket)).put("p", encodeProgress({ epoch, read: position, published: position }));
    await until(async () => (await distribution())?.live === 3, soon("the progress"));

    const before = calls;
    refused.push({ file: "a.yaml", line: 1, object, field: "spec.hosts", reason: "is empty" });
    status.noteRefused();
    assert.deepEqual([[...feed.takeChanged()], calls > before], [[object], true]);
    assert.equal((await feed.statusOf(object))?.state, "refused");
  } finally {
    end();
    stop.abort();
    await running;
  }
});
