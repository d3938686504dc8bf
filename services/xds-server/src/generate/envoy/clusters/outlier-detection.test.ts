/** Ejection of endpoints, by what a DestinationRule gives. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create } from "@flotilla/proto";
import { OutlierDetectionSchema } from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import { outlierDetection, outlierStatuses } from "./outlier-detection.ts";

type Rule = Parameters<typeof create<typeof OutlierDetectionSchema>>[1];

const cases: readonly {
  readonly name: string;
  readonly rule: Rule;
  readonly given: Readonly<Record<string, unknown>>;
}[] = [
  { name: "nothing", rule: {}, given: {} },
  {
    name: "errors",
    rule: { consecutive5xxErrors: 3, consecutiveGatewayErrors: 1 },
    given: {
      ...{ consecutive5xx: 3, enforcingConsecutive5xx: 100 },
      ...{ consecutiveGatewayFailure: 1, enforcingConsecutiveGatewayFailure: 100 },
    },
  },
  {
    name: "errors that turn ejection off",
    rule: { consecutive5xxErrors: 0, consecutiveGatewayErrors: 0 },
    given: {
      ...{ consecutive5xx: 0, enforcingConsecutive5xx: 0 },
      ...{ consecutiveGatewayFailure: 0, enforcingConsecutiveGatewayFailure: 0 },
    },
  },
  { name: "a part of the endpoints", rule: { maxEjectionPercent: 1 }, given: { maxEjectionPercent: 1 } },
  { name: "no part of the endpoints", rule: { maxEjectionPercent: 0 }, given: {} },
  { name: "local failures that are not split", rule: { consecutiveLocalOriginFailures: 5 }, given: {} },
  {
    name: "local failures",
    rule: { splitExternalLocalOriginErrors: true, consecutiveLocalOriginFailures: 1 },
    given: {
      ...{ splitExternalLocalOriginErrors: true, enforcingLocalOriginSuccessRate: 0 },
      ...{ consecutiveLocalOriginFailure: 1, enforcingConsecutiveLocalOriginFailure: 100 },
    },
  },
  {
    name: "split errors without a count",
    rule: { splitExternalLocalOriginErrors: true },
    given: { splitExternalLocalOriginErrors: true, enforcingLocalOriginSuccessRate: 0 },
  },
];

describe("ejection", () => {
  it("is none without a rule", () => assert.deepEqual(outlierDetection(undefined), {}));
  for (const { name, rule, given } of cases)
    it(`by ${name}`, () => {
      const { outlierDetection: found } = outlierDetection(create(OutlierDetectionSchema, rule));
      assert.ok(found);
      const { $typeName: _, monitors: __, ...fields } = found;
      const set = Object.fromEntries(
        Object.entries(fields).filter(([, value]) => value !== undefined && value !== false),
      );
      assert.deepEqual(set, { enforcingSuccessRate: 0, ...given });
    });
  it("keeps its durations", () => {
    const [interval, baseEjectionTime] = [
      { seconds: 1n, nanos: 0 },
      { seconds: 2n, nanos: 0 },
    ];
    const { outlierDetection: found } = outlierDetection(
      create(OutlierDetectionSchema, { interval, baseEjectionTime }),
    );
    assert.deepEqual([found?.interval?.seconds, found?.baseEjectionTime?.seconds], [1n, 2n]);
  });
});

describe("answers that count as errors", () => {
  const matchersOf = (...outlierDetectionHttpErrorCodes: number[]) => {
    const { rule } =
      outlierStatuses(create(OutlierDetectionSchema, { outlierDetectionHttpErrorCodes }))?.errorMatcher ?? {};
    const rules = rule?.case === "orMatch" ? rule.value.rules.map((one) => one.rule) : [rule];
    return rules.map((one) => {
      const [header] = one?.case === "httpResponseHeadersMatch" ? one.value.headers : [];
      const matcher = header?.headerMatchSpecifier;
      return matcher?.case === "stringMatch" ? `${header?.name} ${matcher.value.matchPattern.value}` : undefined;
    });
  };
  it("are none without codes", () => {
    assert.equal(outlierStatuses(undefined), undefined);
    assert.equal(outlierStatuses(create(OutlierDetectionSchema, {})), undefined);
  });
  it("are those with one of the codes", () => {
    assert.deepEqual(matchersOf(429), [":status 429"]);
    assert.deepEqual(matchersOf(429, 500), [":status 429", ":status 500"]);
  });
});
