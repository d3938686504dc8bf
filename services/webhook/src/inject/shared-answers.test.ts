/** Pods that share an answer, the parts of it that are each pod's own, and when answers are dropped. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AdmissionAnswer, AdmissionRequest } from "../admission/review.ts";
import { SharedAnswers } from "./shared-answers.ts";

type Fields = Readonly<Record<string, unknown>>;

function request(metadata: Fields, spec: Fields = {}, namespace = "shop"): AdmissionRequest {
  const object = { apiVersion: "v1", kind: "Pod", metadata: { generateName: "web-5d-", ...metadata }, spec };
  const kind = { group: "", version: "v1", kind: "Pod" };
  return { uid: "1", kind, namespace, name: "", operation: "CREATE", dryRun: false, object: object as never };
}

/** Counts how often an answer was computed; what it holds of a pod is `read`. */
function sharing(read: (pod: AdmissionRequest) => unknown = () => "same", maxEntries = 10) {
  const answers = new SharedAnswers({ maxEntries, maxPatchLength: 1_000 });
  let computed = 0;
  const compute = (pod: AdmissionRequest) => (): AdmissionAnswer => {
    computed += 1;
    return { allowed: true, warnings: ["w"], patch: [{ op: "add", path: "/x", value: read(pod) }] };
  };
  const ask = (
    pod: AdmissionRequest,
    { path = "/inject", inputs = [1] }: { path?: string; inputs?: unknown[] } = {},
  ) => {
    const { patch, patchText, warnings } = answers.answer({ request: pod, path, inputs }, compute(pod));
    assert.deepEqual(warnings, ["w"]);
    return patchText ?? JSON.stringify(patch);
  };
  return { ask, count: () => computed };
}

const pod = (name: string, more: Fields = {}) => request({ name, uid: `u-${name}`, ...more });
const token = (volume: string) => ({ volumes: [{ name: "a" }, { name: volume }] });

describe("answers of pods", () => {
  it("are shared by the third pod of a ReplicaSet on", () => {
    const { ask, count } = sharing();
    const all = ["a", "b", "c", "d"].map((name) => ask(pod(name)));
    assert.deepEqual([new Set(all).size, count()], [1, 2]);
  });

  it("are never shared where two pods were answered differently", () => {
    const { ask, count } = sharing(({ object }) => object?.metadata.name);
    const all = ["a", "b", "c", "d"].map((name) => ask(pod(name)));
    assert.deepEqual([new Set(all).size, count()], [4, 4]);
  });

  it("are not taken for alike because the same pod came twice", () => {
    const { ask, count } = sharing(({ object }) => object?.metadata.name);
    assert.deepEqual(
      ["a", "a", "b", "c"].map((name) => ask(pod(name)).includes(`"${name}"`)),
      [true, true, true, true],
    );
    assert.equal(count(), 4);
  });

  it("have the name of each pod's own token", () => {
    const { ask, count } = sharing(({ object }) => (object as unknown as { spec: unknown }).spec);
    const names = ["bcdfg", "hjklm", "npqrs", "tvwxz"].map((end) => `kube-api-access-${end}`);
    const all = names.map((name) => ask(request({ name, uid: name }, token(name))));
    for (const [index, name] of names.entries()) assert.match(all[index] ?? "", new RegExp(`"${name}"`));
    assert.equal(count(), 2);
  });

  for (const [name, first, second] of [
    ["labels", pod("a"), pod("b", { labels: { a: "b" } })],
    ["namespaces", request({ name: "a" }), request({ name: "b" }, {}, "other")],
    ["containers", request({ name: "a" }, { containers: [1] }), request({ name: "b" }, { containers: [2] })],
    ["names that somebody gave", request({ generateName: "", name: "a" }), request({ generateName: "", name: "b" })],
  ] as const)
    it(`are not shared by pods of different ${name}`, () => {
      const { ask, count } = sharing();
      for (const one of [first, second, first, second]) ask(one);
      assert.equal(count(), 4);
    });

  it("are not shared by different addresses", () => {
    const { ask, count } = sharing();
    for (const name of ["a", "b", "c"]) ask(pod(name));
    ask(pod("d"), { path: "/inject/cluster/east" });
    assert.equal(count(), 3);
  });

  it("are forgotten when what they follow from changes", () => {
    const { ask, count } = sharing();
    for (const name of ["a", "b", "c"]) ask(pod(name));
    ask(pod("d"), { inputs: [2] });
    assert.equal(count(), 3);
  });

  it("are forgotten where others were asked for since", () => {
    const { ask, count } = sharing(undefined, 2);
    for (const name of ["a", "b", "c"]) ask(pod(name));
    for (const label of ["x", "y"]) ask(pod("a", { labels: { label } }));
    ask(pod("d"));
    assert.equal(count(), 5);
  });

  it("that refuse, or are long, are computed each time", () => {
    const answers = new SharedAnswers({ maxEntries: 10, maxPatchLength: 20 });
    let computed = 0;
    const ask = (name: string, answer: AdmissionAnswer) =>
      answers.answer({ request: pod(name), path: "/inject", inputs: [] }, () => {
        computed += 1;
        return answer;
      });
    for (const name of ["a", "b", "c"]) assert.equal(ask(name, { allowed: false, message: "no" }).allowed, false);
    for (const name of ["a", "b", "c"])
      ask(name, { allowed: true, patch: [{ op: "add", path: "/x", value: "long".repeat(9) }] });
    assert.equal(computed, 6);
  });
});
