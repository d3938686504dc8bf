/** Each message has objects that cause it, and the same objects put right, which do not. */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { describe, it } from "node:test";
import { isObject, type JsonObject } from "@flotilla/model";
import { parse } from "yaml";
import type { AnalysisTools, Analyzer, Index, Mesh } from "./analyzer.ts";
import { createAnalyzers } from "./analyzers/all.ts";
import { assumedObjects } from "./assumed-objects.ts";
import { exampleOf } from "./examples.fixture.ts";
import type { Finding } from "./finding.ts";
import { MeshAnalysis } from "./mesh-analysis.ts";
import { type MeshObject, meshObject, meshSettings, remoteService } from "./mesh-object.ts";
import { messageList } from "./messages/messages.ts";

/** Every text is a certificate of the year 2001, and it is that year. */
const tools: AnalysisTools = {
  nowMs: () => Date.UTC(2001, 6),
  validityOf: () => ({ notBeforeMs: Date.UTC(2001, 0), notAfterMs: Date.UTC(2002, 0) }),
};

const analyzers = createAnalyzers();

function objectsOf(text: string): readonly MeshObject[] {
  const documents = text.split(/^---\n/m);
  const given = documents.map((document): unknown => parse(document));
  const objects = documents.map((document, index) => {
    const [, cluster] = /^# in cluster (\S+)\n/.exec(document) ?? [];
    const object = cluster === undefined ? meshObject(given[index]) : remoteService(cluster, given[index]);
    assert.ok(object !== undefined, document);
    return object;
  });
  return [...assumedObjects("istio-system"), ...objects, ...given.flatMap(networksOf)];
}

function networksOf(value: unknown): readonly MeshObject[] {
  const data = isObject(value) ? value["data"] : undefined;
  const text = isObject(data) ? data["meshNetworks"] : undefined;
  if (typeof text !== "string") return [];
  return [meshSettings({ kind: "MeshNetworks", document: parse(text) as JsonObject }, "istio-system")];
}

function findingsOf(text: string, by: readonly Analyzer[] = analyzers): readonly Finding[] {
  const analysis = new MeshAnalysis(by, tools);
  analysis.apply(objectsOf(text).map((object) => ({ object })));
  return analysis.findings();
}

const codesOf = (text: string): readonly string[] => findingsOf(text).map(({ code }) => code);

/** A defect of the analysis is caused by no object. */
const withoutExample = ["IST0001"];

describe("messages", () => {
  for (const { code, name, level } of messageList.filter((one) => !withoutExample.includes(one.code)))
    it(`${code} ${name} is found in its bad example and not in its good one`, () => {
      const example = exampleOf(code);
      assert.ok(example !== undefined, `examples/${code}.yaml`);
      const found = findingsOf(example.bad).filter((one) => one.code === code);
      assert.ok(found.length > 0, `only ${codesOf(example.bad).join(", ")}`);
      assert.ok(
        found.every((one) => one.level === level && !/[{}]|undefined/.test(one.message)),
        found[0]?.message,
      );
      assert.ok(!codesOf(example.good).includes(code), "the good example has the finding, too");
    });

  it("have codes of their own, and examples that belong to one", () => {
    const codes = messageList.map(({ code }) => code);
    assert.equal(new Set(codes).size, codes.length);
    const files = readdirSync(new URL("../examples/", import.meta.url)).map((file) => file.replace(".yaml", ""));
    assert.deepEqual(
      files.filter((file) => !codes.includes(file)),
      [],
    );
  });
});

/** Notes the kinds that an analyzer looks at. */
function watched(analyzer: Analyzer, seen: Set<string>): Analyzer {
  const watch = (mesh: Mesh): Mesh => ({
    find: (kind, namespace, name) => {
      seen.add(kind);
      return mesh.find(kind, namespace, name);
    },
    all: (kind) => {
      seen.add(kind);
      return mesh.all(kind);
    },
    within: (kind, namespace) => {
      seen.add(kind);
      return mesh.within(kind, namespace);
    },
    row: (index: Index, key) => {
      for (const kind of index.kinds) seen.add(kind);
      return mesh.row(index, key);
    },
  });
  return { ...analyzer, check: (object, mesh, given) => analyzer.check(object, watch(mesh), given) };
}

describe("analyzers", () => {
  it("look at the kinds that they declare, and find the messages that they declare", () => {
    const texts = messageList.flatMap(({ code }) => {
      const example = exampleOf(code);
      return example === undefined ? [] : [example.bad, example.good];
    });
    for (const analyzer of analyzers) {
      const seen = new Set<string>();
      const codes = new Set(
        texts.flatMap((text) => findingsOf(text, [watched(analyzer, seen)])).map(({ code }) => code),
      );
      const declared = new Set([...analyzer.checks, ...analyzer.reads]);
      assert.deepEqual(
        [...seen].filter((kind) => !declared.has(kind)),
        [],
        `${analyzer.name} reads more than it declares`,
      );
      const known = messageList
        .filter(({ name }) => analyzer.messages.some((one) => one === name))
        .map(({ code }) => code);
      assert.deepEqual(
        [...codes].filter((code) => !known.includes(code)),
        [],
        `${analyzer.name} finds more than it declares`,
      );
    }
  });

  it("are in the order of their names, each with one of its own", () => {
    const names = analyzers.map(({ name }) => name);
    assert.deepEqual(names, [...new Set(names)].sort());
    assert.ok(names.every((name) => /^[a-z]+(-[a-z]+)*$/.test(name)));
  });
});
