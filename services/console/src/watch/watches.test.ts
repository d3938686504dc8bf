/** What is read of the replicas for all callers together: readiness, and figures of their metrics. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ByReplica, NoAnswer, servicesWith } from "../upstream/answers.fixture.ts";
import { MetricWatch } from "./metric-watch.ts";
import { ReplicaWatch } from "./replica-watch.ts";

describe("readiness of replicas", () => {
  const version = { version: "1", startedAt: "then" };
  /** A mesh whose pages may change between two looks. */
  const watched = (ready: Readonly<Record<string, unknown>>) => {
    const pages: Record<string, unknown> = {
      ...{ ca: Object.keys(ready), "ca /version": new ByReplica({ a: version, b: version }) },
      "ca /ready": new ByReplica(ready),
    };
    const { services, asked } = servicesWith(pages);
    return { watch: new ReplicaWatch(services), pages, asked };
  };
  const known = (name: string) => ({ service: "ca", replica: name, address: { name, url: `http://${name}` } });
  const notReady = JSON.stringify({
    ready: false,
    conditions: [
      { name: "nats", detail: "is away" },
      { name: "redis", detail: "is away too" },
    ],
  });

  const cases: readonly (readonly [name: string, ready: unknown, expected: object])[] = [
    ["is ready", { ready: true, conditions: [] }, { state: "ready", detail: "", ...version }],
    ["is ready without a list of conditions", { ready: true }, { state: "ready", detail: "", ...version }],
    [
      "is not ready, and why",
      new NoAnswer(notReady, 503),
      { state: "not-ready", detail: "nats: is away, redis: is away too", ...version },
    ],
    ["is not ready without a reason", new NoAnswer("no JSON", 503), { state: "not-ready", detail: "", ...version }],
    ["is not ready where it does not say so", {}, { state: "not-ready", detail: "", ...version }],
    ["is away", new NoAnswer("refused"), { state: "away", detail: "refused" }],
  ];
  for (const [name, ready, expected] of cases)
    it(`shows one that ${name}`, async () => {
      const { watch } = watched({ a: ready });
      await watch.look();
      assert.deepEqual(watch.list(), [{ ...known("a"), ...expected }]);
    });

  it("of services is in one order", async () => {
    const names = ["webhook", "ca", "xds-server", "service-controller", "config-controller"];
    const { services } = servicesWith(
      Object.fromEntries(
        names.flatMap((name) => [
          [name, ["a"]],
          [`${name} /ready`, new NoAnswer("")],
        ]),
      ),
    );
    const watch = new ReplicaWatch(services);
    await watch.look();
    assert.deepEqual(
      watch.list().map(({ service }) => service),
      ["config-controller", "service-controller", "xds-server", "ca", "webhook"],
    );
  });

  it("is reported when it changes, and the version is asked once for the life of a replica", async () => {
    const { watch, pages, asked } = watched({ a: { ready: true }, b: { ready: true } });
    const changes: string[] = [];
    const end = watch.onChange((changed) =>
      changes.push(changed.map(({ replica, state }) => `${replica} ${state}`).join(" ")),
    );
    await watch.look();
    await watch.look();
    pages["ca /ready"] = new ByReplica({ a: new NoAnswer("refused"), b: new NoAnswer("{}", 503) });
    await watch.look();
    pages["ca /ready"] = new ByReplica({ a: { ready: true }, b: { ready: true } });
    await watch.look();
    assert.deepEqual(changes, ["a ready b ready", "a away b not-ready", "a ready b ready"]);
    assert.equal(asked.filter((one) => one === "ca /version").length, 3);
    end();
    pages["ca"] = ["a"];
    pages["ca /ready"] = new ByReplica({ a: new NoAnswer("refused") });
    await watch.look();
    assert.deepEqual([changes.length, watch.list().length], [3, 1]);
  });

  it("has no version where none is answered", async () => {
    const { watch, pages } = watched({ a: { ready: true } });
    pages["ca /version"] = new NoAnswer("no page", 404);
    await watch.look();
    assert.deepEqual(watch.list(), [{ ...known("a"), state: "ready", detail: "" }]);
  });
});

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
