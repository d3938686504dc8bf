/** Random routes that split requests by weight, rewrite and mirror them; from few values, so that they overlap. */
import { fc } from "@flotilla/testkit";
import { destinations } from "./rounds.ts";

export interface SplitRequest {
  readonly path: string;
  /** The first value of Envoy's random number. */
  readonly base: number;
}

/** A service whose routes all have the same sum of weights. */
export interface SplitRound {
  readonly sum: number;
  readonly routes: readonly object[];
  readonly requests: readonly SplitRequest[];
}

const host = fc.constantFrom(...destinations);
const optional = { requiredKeys: [] };

/** Up to three different destinations whose weights have the sum; some may have weight 0. */
function weighted(sum: number): fc.Arbitrary<readonly object[]> {
  const cuts = fc.array(fc.nat({ max: sum }), { maxLength: destinations.length - 1 });
  const stamps = fc.array(fc.boolean(), { minLength: destinations.length, maxLength: destinations.length });
  const names = fc.shuffledSubarray(destinations, { minLength: destinations.length });
  return fc.tuple(cuts, names, stamps).map(([places, order, stamped]) => {
    const ends = [...places.toSorted((a, b) => a - b), sum];
    return ends.map((end, index) => {
      const name = order[index] ?? "";
      return {
        destination: { host: name },
        weight: end - (ends[index - 1] ?? 0),
        ...(stamped[index] && { headers: { request: { set: { "x-to": name } } } }),
      };
    });
  });
}

const share = fc.constantFrom(0, 50, 100).map((value) => ({ value }));
/** The two fields of a VirtualService that mirror requests; a route may have one of them. */
const copies = fc.oneof(
  { weight: 2, arbitrary: fc.constant({}) },
  {
    weight: 1,
    arbitrary: fc.record(
      { mirror: fc.record({ host }), mirrorPercentage: share },
      { requiredKeys: ["mirror"], noNullPrototype: true },
    ),
  },
  {
    weight: 2,
    arbitrary: fc
      .array(fc.record({ destination: fc.record({ host }), percentage: share }, { requiredKeys: ["destination"] }), {
        minLength: 1,
        maxLength: 2,
      })
      .map((mirrors) => ({ mirrors })),
  },
);
const rewrite = fc.record(
  { uri: fc.constantFrom("/r", "/r/s"), authority: fc.constant("rewritten.example") },
  optional,
);
const match = fc.record({ uri: fc.record({ prefix: fc.constantFrom("/a", "/a/b", "/b") }) });

export function splitRoutes(sum: number): fc.Arbitrary<readonly object[]> {
  const route = fc
    .record({
      match: fc.option(match, { nil: undefined }),
      route: weighted(sum),
      rewrite: fc.option(rewrite, { nil: undefined, freq: 2 }),
      copies,
    })
    .map(({ match: one, rewrite: changed, copies: copied, ...rest }) => ({
      ...rest,
      ...copied,
      ...(one && { match: [one] }),
      ...(changed && Object.keys(changed).length > 0 && { rewrite: changed }),
    }));
  return fc.array(route, { minLength: 1, maxLength: 3 });
}

export const splitRequest: fc.Arbitrary<SplitRequest> = fc.record({
  path: fc.constantFrom("/", "/a", "/a/b", "/ab", "/b?q=1"),
  base: fc.nat({ max: 1_000_000 }),
});

export const sums = fc.constantFrom(1, 3, 7, 12);

export const splitRound: fc.Arbitrary<SplitRound> = sums
  .chain((sum) =>
    fc.record({
      sum: fc.constant(sum),
      routes: splitRoutes(sum),
      requests: fc.array(splitRequest, { minLength: 2, maxLength: 2 }),
    }),
  )
  // Gives objects the usual prototype, as those read from YAML have it.
  .map((value) => JSON.parse(JSON.stringify(value)) as SplitRound);
