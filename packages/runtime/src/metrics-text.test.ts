/** Metrics of other processes, read from their text. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { bucketsOf, quantileOf, sumsOf } from "./metrics-text.ts";

const text = `# HELP pushes Messages sent
pushes{type="cds"} 3
pushes{type="lds"} 4
time_bucket{le="0.1",type="cds"} 5
time_bucket{type="cds",le="1"} 10
time_bucket{type="cds",le="+Inf"} 10
time_bucket{type="lds",le="0.1"} 5
time_bucket{type="lds",le="1"} 9
time_bucket{type="lds",le="+Inf"} 10
no line of metrics
`;

describe("a text of metrics", () => {
  it("has the sum of all series of a metric", () => assert.equal(sumsOf(text).get("pushes"), 7));

  const buckets = bucketsOf(text, "time");
  const quantiles = [
    { name: "within the first bucket", share: 0.25, expected: 0.05 },
    { name: "at a bound", share: 0.5, expected: 0.1 },
    { name: "beyond the last bound", share: 0.99, expected: 1 },
  ] as const;
  for (const { name, share, expected } of quantiles)
    it(`has a quantile ${name}`, () => assert.equal(quantileOf(buckets, share), expected));
  it("has no quantile without observations", () => assert.equal(quantileOf(bucketsOf(text, "other"), 0.5), undefined));
});

describe("lines of another form", () => {
  it("are left out of histograms", () => {
    const lines = [
      'a_bucket{le="1"} 2',
      'a_bucket{le="1"} many',
      'a_bucket{type="x"} 3',
      'a_bucket_more{le="1"} 4',
      "# a_bucket{",
    ];
    assert.deepEqual(bucketsOf(lines.join("\n"), "a"), new Map([[1, 2]]));
    assert.deepEqual(bucketsOf('a_bucket{le="+Inf"} 2', "a"), new Map([[Number.POSITIVE_INFINITY, 2]]));
  });
  it("are left out of sums", () =>
    assert.deepEqual(sumsOf('a 1\n# HELP a 2\n\na{x="a b"} 2 1700000000\nb'), new Map([["a", 3]])));
  it("give no quantile beyond the last bound, and within an empty bucket its lower bound", () => {
    assert.equal(
      quantileOf(
        new Map([
          [1, 2],
          [2, 2],
          [4, 4],
        ]),
        0.5,
      ),
      1,
    );
    assert.equal(
      quantileOf(
        new Map([
          [1, 0],
          [2, 4],
        ]),
        0,
      ),
      0,
    );
    assert.equal(quantileOf(new Map([[Number.POSITIVE_INFINITY, 4]]), 0.5), 0);
  });
});
