import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Histogram as PromHistogram, Registry } from "prom-client";
import { createMetrics } from "./metrics.ts";

const labelled = { name: "wait_seconds", help: "How long", labels: ["kind"], buckets: [0.1, 1] } as const;

describe("metrics", () => {
  it("a histogram reads as prom-client's own", async () => {
    const [metrics, registry] = [createMetrics(), new Registry()];
    const { name, help, labels, buckets } = labelled;
    const ours = metrics.histogram(labelled);
    const theirs = new PromHistogram({ name, help, labelNames: labels, buckets: [...buckets], registers: [registry] });
    for (const value of [0.05, 0.1, 0.5, 3]) {
      for (const kind of ["route", 'a "quoted\nkind']) {
        ours.observe(value, { kind });
        theirs.observe({ kind }, value);
      }
    }
    const text = await metrics.text();
    assert.equal(text.slice(text.indexOf(`# HELP ${name}`)), await registry.metrics());
  });

  it("a histogram without labels is there before it is observed, one with labels from then on", async () => {
    const metrics = createMetrics();
    metrics.histogram({ name: "plain", help: "p", buckets: [1] });
    metrics.histogram(labelled);
    const text = await metrics.text();
    assert.match(text, /^plain_bucket\{le="1"\} 0\nplain_bucket\{le="\+Inf"\} 0\nplain_sum 0\nplain_count 0$/m);
    assert.match(text, /# TYPE wait_seconds histogram/);
    assert.doesNotMatch(text, /wait_seconds_bucket/);
  });

  it("a counter adds up, by its labels, however often it is read", async () => {
    const metrics = createMetrics();
    const seen = metrics.counter({ name: "seen", help: "s", labels: ["kind", "outcome"] });
    metrics.counter({ name: "errors", help: "e" });
    seen.add(2, { kind: "a", outcome: "good" });
    await metrics.text();
    seen.add(1, { kind: "a", outcome: "good" });
    seen.add(1, { kind: "b", outcome: "good" });
    const text = await metrics.text();
    assert.match(text, /^seen\{kind="a",outcome="good"\} 3\nseen\{kind="b",outcome="good"\} 1$/m);
    assert.match(text, /^errors 0$/m);
  });

  it("a name is taken once", () => {
    const metrics = createMetrics();
    metrics.histogram(labelled);
    assert.throws(() => metrics.histogram(labelled), /METRIC_INVALID.*wait_seconds/);
    assert.throws(() => metrics.counter({ name: "wait_seconds", help: "h" }), /METRIC_INVALID/);
  });
});
