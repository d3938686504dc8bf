import assert from "node:assert/strict";
import { test } from "node:test";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import { aConfig, aMesh, aService, aSidecar, resourceOf } from "../../testing/mesh.ts";

/** The metrics that `istio.stats` is configured with; undefined without the filter. */
function reported(...overrides: readonly JsonObject[]): readonly JsonObject[] | undefined {
  const spec = { metrics: [{ providers: [{ name: "prometheus" }], overrides: [...overrides] }] };
  const core = aMesh(aService("web", "shop"), aConfig("Telemetry", "shop", "t", spec));
  const text = JSON.stringify(resourceOf(core, aSidecar("shop"), typeUrl.listener, "virtualOutbound"));
  const config = /"name":"istio.stats","typedConfig":(\{.*?\})\},\{"name":"envoy.filters.network.tcp_proxy"/.exec(text);
  return config?.[1] === undefined ? undefined : (JSON.parse(config[1]).metrics ?? []);
}

const everything = { metric: "ALL_METRICS" };
const requests = { metric: "REQUEST_COUNT" };

test("a word about all metrics names each of them, even when it says nothing more", () => {
  assert.equal(reported({ match: everything })?.length, 10);
  assert.equal(reported({})?.length, 10);
  assert.equal(reported({ match: everything, disabled: false })?.length, 10);
});

test("with all metrics off, one that is spoken of later is on again", () => {
  assert.equal(reported({ match: everything, disabled: true }), undefined);
  assert.deepEqual(reported({ disabled: true }, { match: requests }), [{ name: "requests_total" }]);
});

test("tags beside the word that turns all metrics off are for nothing, as in istiod", () => {
  const off = { disabled: true, tagOverrides: { x: { operation: "UPSERT", value: "1" } } };
  assert.deepEqual(reported(off, { match: requests }), [{ name: "requests_total" }]);
});

test("all metrics on: one that was off before is on too", () => {
  const found = reported({ match: requests, disabled: true }, { match: everything, disabled: false });
  assert.deepEqual(
    found?.filter((metric) => metric["drop"] === true),
    [],
  );
});

test("a sidecar reports by its own traffic, not as a gateway of services", () => {
  const spec = { metrics: [{ providers: [{ name: "prometheus" }] }] };
  const core = aMesh(aService("web", "shop"), aConfig("Telemetry", "shop", "t", spec));
  const text = JSON.stringify(resourceOf(core, aSidecar("shop"), typeUrl.listener, "virtualInbound"));
  assert.match(text, /"istio.stats"/);
  assert.doesNotMatch(text, /"reporter"/);
});
