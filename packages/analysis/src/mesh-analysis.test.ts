/** Findings follow changes: what a change concerns is checked again, and nothing else. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parse } from "yaml";
import type { AnalysisTools, Analyzer } from "./analyzer.ts";
import { createAnalyzers } from "./analyzers/all.ts";
import { MeshAnalysis } from "./mesh-analysis.ts";
import { type MeshObject, meshObject, objectTitle } from "./mesh-object.ts";

const tools: AnalysisTools = {
  nowMs: () => 0,
  validityOf: () => ({ notBeforeMs: 0, notAfterMs: 1 }),
};

function object(yaml: string): MeshObject {
  const found = meshObject(parse(yaml));
  assert.ok(found !== undefined, yaml);
  return found;
}

const service = (name: string) =>
  object(
    `{apiVersion: v1, kind: Service, metadata: {name: ${name}, namespace: shop}, spec: {ports: [{name: http, port: 80}]}}`,
  );
const route = (name: string, host: string) =>
  object(`{apiVersion: networking.istio.io/v1, kind: VirtualService, metadata: {name: ${name}, namespace: shop},
    spec: {hosts: [${name}], http: [{route: [{destination: {host: ${host}}}]}]}}`);

function analysisOf(names: readonly string[]): MeshAnalysis {
  return new MeshAnalysis(
    createAnalyzers().filter(({ name }) => names.includes(name)),
    tools,
  );
}

const titles = (analysis: MeshAnalysis) =>
  analysis.findings().map(({ code, object: key, field }) => `${code} ${objectTitle(key)} ${field}`);

describe("analysis of a mesh that changes", () => {
  it("checks what a change concerns and nothing else", () => {
    const analysis = analysisOf(["route-destinations"]);
    const routes = Array.from({ length: 50 }, (_, at) => route(`route-${at}`, `host-${at}`));
    const services = Array.from({ length: 50 }, (_, at) => service(`host-${at}`));
    analysis.apply([...routes, ...services].map((one) => ({ object: one })));
    assert.deepEqual(titles(analysis), []);
    const before = analysis.computations;
    const changed = analysis.apply([{ removed: service("host-7").key }]);
    assert.deepEqual(titles(analysis), ["IST0101 VirtualService shop/route-7 spec.http[0].route[0].destination.host"]);
    assert.deepEqual([...changed], ["Service/shop/host-7", "VirtualService/shop/route-7"]);
    assert.equal(analysis.computations - before, 1);
  });

  it("checks a part at a time, as much as is asked for", () => {
    const analysis = analysisOf(["route-destinations"]);
    analysis.note(["a", "b", "c"].map((name) => ({ object: route(name, "lost") })));
    assert.deepEqual([analysis.isSettled, analysis.findings().length], [false, 0]);
    assert.deepEqual([analysis.settle(2).size, analysis.isSettled, analysis.findings().length], [2, false, 2]);
    assert.deepEqual([analysis.settle(2).size, analysis.isSettled, analysis.findings().length], [1, true, 3]);
  });

  it("forgets findings of objects that are gone and of those that were put right", () => {
    const analysis = analysisOf(["route-destinations"]);
    analysis.apply([{ object: route("a", "lost") }, { object: route("b", "lost") }]);
    assert.equal(analysis.findings().length, 2);
    const changed = analysis.apply([
      { object: route("a", "found") },
      { object: service("found") },
      { removed: route("b", "").key },
    ]);
    assert.deepEqual(titles(analysis), []);
    assert.deepEqual([...changed].sort(), ["Service/shop/found", "VirtualService/shop/a", "VirtualService/shop/b"]);
    assert.deepEqual(analysis.findingsOf(route("a", "").key), []);
  });

  it("finds the same in whatever order objects come", () => {
    const objects = [route("a", "lost"), route("b", "servce"), service("service"), route("c", "service")];
    const found = [objects, [...objects].reverse()].map((order) => {
      const analysis = new MeshAnalysis(createAnalyzers(), tools);
      for (const one of order) analysis.apply([{ object: one }]);
      return analysis.findings();
    });
    assert.deepEqual(found[0], found[1]);
    assert.match(
      found[0]?.find(({ code, object: { name } }) => code === "IST0101" && name === "b")?.message ?? "",
      /is service meant\?/,
    );
  });

  it("reports an analyzer that fails, and what the others find", () => {
    const broken: Analyzer = {
      name: "broken",
      summary: "",
      messages: [],
      checks: ["VirtualService"],
      reads: [],
      check: () => {
        throw new Error("no such luck");
      },
    };
    const analysis = new MeshAnalysis(
      [broken, ...createAnalyzers().filter(({ name }) => name === "route-destinations")],
      tools,
    );
    analysis.apply([{ object: route("a", "lost") }]);
    assert.deepEqual(
      analysis.findings().map(({ code, message }) => [code, message.includes("no such luck")]),
      [
        ["IST0001", true],
        ["IST0101", false],
      ],
    );
  });

  it("leaves objects of Kubernetes' own namespaces alone", () => {
    const analysis = analysisOf(["port-names"]);
    const odd = (namespace: string) =>
      object(
        `{apiVersion: v1, kind: Service, metadata: {name: a, namespace: ${namespace}}, spec: {ports: [{name: odd, port: 80}]}}`,
      );
    analysis.apply([{ object: odd("kube-system") }, { object: odd("shop") }]);
    assert.deepEqual(titles(analysis), ["IST0118 Service shop/a spec.ports[0]"]);
  });
});
