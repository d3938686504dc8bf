import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ByReplica, NoAnswer, servicesWith } from "../upstream/answers.fixture.ts";
import { MetricWatch } from "./metric-watch.ts";

describe("figures of metrics", () => {
  const xds = (
    pushes: number,
    bytes: number,
    rejects: number,
    buckets: readonly [number, number, number],
    wasted?: number,
  ) =>
    [
      ...[
        `pilot_xds_pushes{type="cds"} ${pushes}`,
        `pilot_xds_config_size_bytes_sum ${bytes}`,
        `pilot_total_xds_rejects ${rejects}`,
      ],
      ...["0.1", "1", "+Inf"].map((le, i) => `pilot_proxy_convergence_time_bucket{le="${le}"} ${buckets[i]}`),
      ...(wasted === undefined ? [] : [`flotilla_xds_wasted_push_ratio ${wasted}`]),
    ].join("\n");
  const ca = (issued: number, ...failed: readonly number[]) =>
    [
      `citadel_server_success_cert_issuance_count ${issued}`,
      ...["csr_sign_err", "authentication_failure", "csr_parsing_err"].map(
        (name, i) => `citadel_server_${name}_count ${failed[i] ?? 0}`,
      ),
    ].join("\n");
  const at = (second: number) => new Date(second * 1_000);
  const reading = () => {
    const pages: Record<string, unknown> = { "xds-server": ["a", "b"], ca: ["c"] };
    const { services, asked } = servicesWith(pages);
    const watch = new MetricWatch(services);
    const read = async (second: number, a: unknown, b: unknown, c: unknown) => {
      pages["xds-server /metrics"] = new ByReplica({ a, b });
      pages["ca /metrics"] = new ByReplica({ c });
      await watch.read(at(second));
    };
    return { watch, read, asked };
  };

  it("are what grew since the reading before, of all replicas", async () => {
    const { watch, read, asked } = reading();
    await read(1, xds(100, 1_000, 5, [10, 10, 10], 0.2), xds(50, 500, 0, [0, 0, 0], 0.4), ca(10, 1, 1, 1));
    assert.deepEqual([watch.pushes().samples, watch.issued(), watch.stepMs], [[], [], 15_000]);
    await read(2, xds(103, 1_300, 6, [10, 12, 12], 0.2), xds(54, 600, 0, [2, 2, 2], 0.4), ca(14, 2, 3, 4));
    const { samples, wastedShare, stepMs, p50Ms, p99Ms } = watch.pushes();
    const [{ p50Ms: of = 0, p99Ms: most = 0, ...sample } = {}] = samples as readonly {
      p50Ms?: number;
      p99Ms?: number;
    }[];
    assert.deepEqual(sample, { at: "1970-01-01T00:00:02.000Z", pushes: 7, bytes: 400, rejections: 1 });
    assert.deepEqual([of, p50Ms, p99Ms, stepMs], [100, of, most, 15_000]);
    assert.ok(most > 900 && most <= 1_000 && Math.abs((wastedShare ?? 0) - 0.3) < 1e-9);
    assert.deepEqual(watch.issued(), [{ at: "1970-01-01T00:00:02.000Z", issued: 4, failed: 6 }]);
    assert.deepEqual(asked.slice(0, 2), ["xds-server /metrics", "ca /metrics"]);
  });

  it("count a replica that began anew as nothing, and one that is new from then on", async () => {
    const { watch, read } = reading();
    const gone = new NoAnswer("refused");
    await read(1, xds(100, 0, 0, [0, 0, 0]), gone, gone);
    await read(2, xds(3, 0, 0, [0, 0, 0]), xds(50, 0, 0, [0, 0, 0]), gone);
    await read(3, gone, gone, ca(3));
    await read(4, xds(5, 0, 0, [0, 0, 0]), xds(51, 0, 0, [0, 0, 0]), ca(4));
    assert.deepEqual(
      watch.pushes().samples.map(({ at: when, pushes }) => [Date.parse(when) / 1_000, pushes]),
      [
        [2, 0],
        [4, 3],
      ],
    );
    assert.deepEqual(
      watch.issued().map(({ issued }) => issued),
      [1],
    );
    assert.equal("wastedShare" in watch.pushes() || "p50Ms" in watch.pushes(), false);
  });

  it("are of the last 240 readings", async () => {
    const { watch, read } = reading();
    for (let n = 0; n < 243; n++) await read(n, xds(n, 0, 0, [0, 0, 0]), xds(0, 0, 0, [0, 0, 0]), ca(n));
    assert.deepEqual([watch.pushes().samples.length, watch.issued().length], [240, 240]);
    assert.equal(watch.issued()[0]?.at, at(3).toISOString());
  });
});
