import assert from "node:assert/strict";
import { test } from "node:test";
import { createMetrics } from "@flotilla/runtime";
import { declareMetrics } from "./metrics.ts";

test("attempts to write webhook configurations are counted under istiod's names", async () => {
  const registry = createMetrics();
  const { configurationWritten: note } = declareMetrics(registry);
  note({ collection: "mutatingwebhookconfigurations", name: "injector", refusal: undefined });
  note({ collection: "validatingwebhookconfigurations", name: "validator", refusal: "KUBE_CONFLICT" });
  note({ collection: "validatingwebhookconfigurations", name: "validator", refusal: "KUBE_REFUSED" });
  note({ collection: "validatingwebhookconfigurations", name: "validator", refusal: undefined });
  const text = await registry.text();
  for (const line of [
    'webhook_patch_attempts_total{name="injector"} 1',
    'webhook_patch_attempts_total{name="validator"} 3',
    'webhook_patch_retries_total{name="validator"} 1',
    'webhook_patch_failures_total{name="validator",reason="KUBE_REFUSED"} 1',
    "galley_validation_config_updates 1",
    'galley_validation_config_update_error{reason="KUBE_REFUSED"} 1',
  ])
    assert.ok(text.includes(`\n${line}\n`), line);
});
