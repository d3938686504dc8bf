/** Answers to admission requests for pods: injected, left alone, or refused, each counted as what it is. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMetrics, noopLogger } from "@flotilla/runtime";
import type { AdmissionRequest } from "../admission/review.ts";
import { declareMetrics } from "../metrics.ts";
import { createInjectionHandler, type InjectionOptions } from "./answer.ts";

async function answered(object: object, enabled = true) {
  const metrics = createMetrics();
  const config = { policy: "disabled", neverInjectSelector: [], alwaysInjectSelector: [], templates: {} };
  let nowMs = 1_000;
  const options = {
    ...{ enabled, log: noopLogger, metrics: declareMetrics(metrics).injection, revisions: () => [1] },
    nowMs: () => (nowMs += 250),
    ...{ config: () => config, mesh: () => ({}), namespaceAnnotations: () => ({}) },
  } as unknown as InjectionOptions;
  const request = { uid: "u", namespace: "shop", name: "p", object } as unknown as AdmissionRequest;
  const answer = createInjectionHandler(options)(request, "/inject");
  const text = await metrics.text();
  const value = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1] ?? 0);
  const counted = ["requests", "success", "failure", "skip"].map((of) => value(`sidecar_injection_${of}_total`));
  return { answer, counted, seconds: value("sidecar_injection_time_seconds_sum") };
}

const pod = { kind: "Pod", metadata: { labels: { "sidecar.istio.io/inject": "false" } }, spec: { containers: [] } };

describe("an answer to a request for a pod", () => {
  it("allows it as it is where injection is off, whatever it is", async () => {
    const { answer, counted } = await answered({ kind: "Pod" }, false);
    assert.deepEqual([answer, counted], [{ allowed: true }, [1, 0, 0, 1]]);
  });
  it("allows it as it is where it is not to be injected", async () => {
    const { answer, counted, seconds } = await answered(pod);
    assert.deepEqual([answer.allowed, answer.patch, counted, seconds], [true, undefined, [1, 0, 0, 1], 0.25]);
  });
  it("refuses what is no pod", async () => {
    const { answer, counted } = await answered({ kind: "Pod", metadata: {} });
    assert.deepEqual([answer.allowed, counted], [false, [1, 0, 1, 0]]);
    assert.match(answer.message ?? "", /a Pod has no spec/);
  });
});
