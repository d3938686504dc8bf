/** Requests for unknown hosts: the name of their route, and the host that servers are shown. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { passthroughRoute } from "./routes.ts";

it("requests for unknown hosts pass under a name of their way, and show the host where that is asked for", () => {
  const routeOf = (cluster: string, shows: boolean) => {
    const { name, action } = passthroughRoute(cluster, shows);
    assert.equal(action.case, "route");
    const { clusterSpecifier, appendXForwardedHost } = action.value;
    return [name, clusterSpecifier.value, appendXForwardedHost];
  };
  assert.deepEqual(routeOf("PassthroughCluster", false), ["allow_any", "PassthroughCluster", false]);
  assert.deepEqual(routeOf("AllowAnyDynamicDNSCluster", true), [
    ...["allow_any_dynamic_dns", "AllowAnyDynamicDNSCluster", true],
  ]);
});
