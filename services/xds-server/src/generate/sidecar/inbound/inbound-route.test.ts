/** The route of an inbound port, with retries and without. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { inboundRetryPolicy } from "../../envoy/routes/retry.ts";
import { inboundRoute } from "./inbound-route.ts";

const inputs = { cluster: "inbound|8080||", operation: "web.shop:80", servicePort: 80 };
const routeOf = (retries: boolean) => {
  const retryPolicy = retries ? inboundRetryPolicy(undefined) : undefined;
  const configuration = inboundRoute({ ...inputs, retryPolicy });
  const route = configuration.virtualHosts[0]?.routes[0];
  assert.ok(route?.action.case === "route");
  return { configuration, route, action: route.action.value };
};

describe("the route of an inbound port", () => {
  it("leads everything to the workload, without a time limit", () => {
    const { configuration, route, action } = routeOf(true);
    assert.equal(configuration.name, "inbound|8080||");
    assert.deepEqual(
      configuration.virtualHosts.map(({ name, domains }) => [name, domains]),
      [["inbound|http|80", ["*"]]],
    );
    assert.deepEqual(route.match?.pathSpecifier, { case: "prefix", value: "/" });
    assert.equal(route.decorator?.operation, "web.shop:80/*");
    assert.deepEqual(action.clusterSpecifier, { case: "cluster", value: "inbound|8080||" });
    assert.deepEqual([action.timeout?.seconds, action.timeout?.nanos], [0n, 0]);
  });
  it("sends again what was reset before it was a request", () => {
    const { retryPolicy } = routeOf(true).action;
    assert.deepEqual([retryPolicy?.retryOn, retryPolicy?.numRetries], ["reset-before-request", 2]);
  });
  it("sends nothing again where it was asked not to", () => assert.equal(routeOf(false).action.retryPolicy, undefined));
});
