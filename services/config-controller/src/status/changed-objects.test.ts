/** Objects whose status is checked again, and when. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ProxyRefusal } from "@flotilla/model";
import type { SourceProblem } from "@flotilla/sources";
import { ChangedObjects, type ChangedSources } from "./changed-objects.ts";

function aMesh() {
  const refused: SourceProblem[] = [];
  const findings = new Map<string, readonly string[]>();
  const refusals: ProxyRefusal[] = [];
  let onGeneration: (generation: object) => void = () => undefined;
  let onReports: () => void = () => undefined;
  const sources = {
    refused: () => refused,
    published: {
      listen: (listener: { onGeneration: typeof onGeneration }) => {
        onGeneration = listener.onGeneration;
      },
    },
    distributions: {
      findings: () => findings,
      refusals: () => refusals,
      listen: (listener: () => void) => {
        onReports = listener;
      },
    },
  } as unknown as ChangedSources;
  const changed = new ChangedObjects(sources);
  let calls = 0;
  const end = changed.onChanged(() => void calls++);
  const change = (...kinds: readonly string[]) =>
    onGeneration({ changes: kinds.map((kind) => ({ key: { kind, namespace: "shop", name: "a" } })) });
  const taken = () => [...changed.take()].sort();
  return {
    ...{ refused, findings, refusals, changed, change, taken, end },
    report: () => onReports(),
    calls: () => calls,
  };
}

const web = "VirtualService/shop/web";

describe("objects whose status may be different", () => {
  it("are those of a generation that have one", () => {
    const { change, taken, calls } = aMesh();
    change("VirtualService", "Secret", "MeshConfig");
    assert.deepEqual([taken(), calls()], [["MeshConfig/shop/a", "VirtualService/shop/a"], 1]);
    assert.deepEqual(taken(), []);
  });

  it("are those that somebody notes", () => {
    const { changed, taken, calls } = aMesh();
    changed.note(new Set(["Secret/shop/key", "no object"]));
    assert.deepEqual([taken(), calls()], [[], 0]);
    changed.note(new Set([web, "Secret/shop/key"]));
    assert.deepEqual([taken(), calls()], [[web], 1]);
  });

  it("are those that are refused, found fault with or rejected, once for each thing said", () => {
    const { refused, findings, refusals, changed, report, taken, calls } = aMesh();
    refused.push({ file: "a", line: 1, object: web, field: "spec", reason: "is wrong" });
    changed.compare();
    assert.deepEqual([taken(), calls()], [[web], 1]);
    changed.compare();
    report();
    assert.deepEqual([taken(), calls()], [[], 1]);
    refused[0] = { ...refused[0], reason: "is worse" } as SourceProblem;
    changed.compare();
    assert.deepEqual(taken(), [web]);
    findings.set("Gateway/shop/g", ["80 is taken"]);
    report();
    assert.deepEqual(taken(), ["Gateway/shop/g"]);
    refusals.push({ proxy: "p", objects: [web, "Sidecar/shop/s", "Secret/shop/key"], message: "no" } as never);
    report();
    assert.deepEqual(taken(), ["Sidecar/shop/s", web]);
  });

  it("are those of which nothing is said any more", () => {
    const { refused, changed, taken } = aMesh();
    refused.push({ file: "a", line: 1, object: web, reason: "is wrong" }, { file: "b", line: 0, reason: "no YAML" });
    changed.compare();
    assert.deepEqual(taken(), [web]);
    refused.length = 0;
    changed.compare();
    assert.deepEqual(taken(), [web]);
    changed.compare();
    assert.deepEqual(taken(), []);
  });

  it("are not reported to removed listeners", () => {
    const { change, end, calls, taken } = aMesh();
    end();
    change("Gateway");
    assert.deepEqual([calls(), taken()], [0, ["Gateway/shop/a"]]);
  });
});
