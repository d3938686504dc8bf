/**
 * 20,000 AdmissionReviews as a hostile or broken client might send them, past the port (mutated-reviews.test.ts has those over HTTPS): each
 * gets an answer that allows, or denies with a reason, no failure of ours is logged, and no prototype is changed. FUZZED_REVIEWS and
 * MUTATION_SEED set number and start.
 */
import assert from "node:assert/strict";
import { it } from "node:test";
import { builtInDocuments, parseInjectionConfig } from "@flotilla/injection";
import { defaultMeshConfig, noProxyConfigs } from "@flotilla/model";
import { createMetrics, noopLogger } from "@flotilla/runtime";
import { createValidator } from "@flotilla/validation";
import { ValidationThread } from "@flotilla/validation/aside";
import { createInjectionHandler } from "./inject/answer.ts";
import { declareMetrics } from "./metrics.ts";
import { createRouter } from "./serve/router.ts";
import { bodyOf, randomOf } from "./testing/mutations.ts";
import { sampleReviews } from "./testing/sample-reviews.ts";
import { createValidationHandler } from "./validate/answer.ts";

const count = Number(process.env["FUZZED_REVIEWS"] ?? 20_000);
const seed = Number(process.env["MUTATION_SEED"] ?? 7);

it(`answers ${count} fuzzed reviews`, async () => {
  const documents = await builtInDocuments();
  const config = parseInjectionConfig(documents.config, documents.values);
  const failures: unknown[] = [];
  const log = {
    ...noopLogger,
    child: () => log,
    error: (event: string, fields?: unknown) => failures.push(event, fields),
  };
  const metrics = declareMetrics(createMetrics());
  const inject = createInjectionHandler({
    ...{ enabled: true, config: () => config, revisions: () => [], mesh: () => defaultMeshConfig, log },
    environment: { revision: "default", nativeSidecars: true, platform: "", compliancePolicy: "" },
    ...{
      namespaceAnnotations: () => ({}),
      proxyConfigs: () => noProxyConfigs,
      metrics: metrics.injection,
      nowMs: () => 0,
    },
  });
  await using thread = new ValidationThread();
  const validate = createValidationHandler({
    ...{ validate: createValidator(), log, metrics: metrics.validation },
    validateAside: (object, json) => thread.validate({ json, at: ["request", "object"], object: { ...object } }),
  });
  const answer = createRouter({ inject, validate, isReady: () => true, onHttpError: () => undefined, log });
  const random = randomOf(seed);
  for (let done = 0; done < count; done++) {
    const { path, review } = sampleReviews[random(sampleReviews.length)] ?? assert.fail("no samples");
    const body = bodyOf(review, random);
    const reply = await answer({ method: "POST", path, contentType: "application/json", body });
    const what = () =>
      `review ${done} of seed ${seed}: ${reply.status} ${reply.text} ${body.toString().slice(0, 2_000)}`;
    if (body.length === 0) continue;
    assert.equal(reply.status, 200, what());
    const { response } = JSON.parse(String(reply.text)) as {
      response: { allowed: boolean; status?: { message: string } };
    };
    assert.ok(response.allowed || (response.status?.message ?? "") !== "", what());
  }
  assert.deepEqual(failures, []);
  assert.deepEqual(Object.keys(Object.prototype), []);
  assert.equal(({} as { a?: number }).a, undefined);
});
