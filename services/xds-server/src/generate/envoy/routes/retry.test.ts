import assert from "node:assert/strict";
import { test } from "node:test";
import { fromJson, type JsonObject } from "@flotilla/proto";
import { HTTPRetrySchema } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import { inboundRetryPolicy, retryPolicy } from "./retry.ts";

const cases = [
  {
    name: "status codes bring their condition with them",
    retryOn: "5xx,503",
    on: "5xx,retriable-status-codes",
    codes: [503],
  },
  {
    name: "a condition that stands there is not repeated",
    retryOn: "retriable-status-codes,429",
    on: "retriable-status-codes",
    codes: [429],
  },
  {
    name: "numbers that are no status codes are passed on",
    retryOn: "gateway-error,99",
    on: "gateway-error,99",
    codes: [],
  },
  {
    name: "codes alone leave the place of conditions empty",
    retryOn: "503",
    on: ",retriable-status-codes",
    codes: [503],
  },
];

for (const { name, retryOn, on, codes } of cases) {
  test(name, () => {
    const policy = retryPolicy(fromJson(HTTPRetrySchema, { attempts: 2, retryOn }));
    assert.equal(policy?.retryOn, on);
    assert.deepEqual(policy?.retriableStatusCodes, codes);
  });
}

test("no attempts means no policy, nothing said means two retries on other hosts", () => {
  assert.equal(retryPolicy(fromJson(HTTPRetrySchema, { attempts: 0 })), undefined);
  const policy = retryPolicy(undefined);
  assert.equal(policy?.numRetries, 2);
  assert.equal(policy?.retryHostPredicate.length, 1);
});

test("hosts that failed may be asked again when asked to", () => {
  const policy = retryPolicy(fromJson(HTTPRetrySchema, { attempts: 1, retryIgnorePreviousHosts: false }));
  assert.equal(policy?.retryHostPredicate.length, 0);
});

test("inbound retries have the mesh's attempts, conditions and back-off, and nothing of hosts", () => {
  const of = (json: JsonObject) => inboundRetryPolicy(fromJson(HTTPRetrySchema, json));
  assert.deepEqual(
    [inboundRetryPolicy(undefined)?.retryOn, inboundRetryPolicy(undefined)?.numRetries],
    ["reset-before-request", 2],
  );
  assert.equal(of({ attempts: 0 }), undefined);
  const policy = of({
    attempts: 5,
    retryOn: "reset,503",
    backoff: "2s",
    perTryTimeout: "1s",
    retryRemoteLocalities: true,
  });
  assert.deepEqual(
    [policy?.numRetries, policy?.retryOn, policy?.retriableStatusCodes],
    [5, "reset,retriable-status-codes", [503]],
  );
  assert.equal(policy?.retryBackOff?.baseInterval?.seconds, 2n);
  assert.deepEqual(
    [policy?.perTryTimeout, policy?.retryPriority, policy?.retryHostPredicate],
    [undefined, undefined, []],
  );
});
