import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ApplyAnswer, ApplyRequest } from "../../contract/index.ts";
import { causesByLine, createDraft } from "./draft.ts";
import type { Answer } from "./fetch-json.ts";

const applied: ApplyAnswer = { dryRun: false, items: [], ignored: [] };

function editing() {
  const sent: ApplyRequest[] = [];
  const replies: ((answer: Answer<ApplyAnswer>) => void)[] = [];
  const waits: (() => void)[] = [];
  const draft = createDraft({
    start: "kind: A\n",
    send: (request) => {
      sent.push(request);
      return new Promise((resolve) => replies.push(resolve));
    },
    later: (run) => {
      waits.push(run);
      return () => waits.splice(waits.indexOf(run), 1);
    },
  });
  const reply = async (at: number, answer: Answer<ApplyAnswer>): Promise<void> => {
    replies[at]?.(answer);
    await new Promise(setImmediate);
  };
  const pause = (): void => {
    for (const run of waits.splice(0)) run();
  };
  return { draft, sent, reply, pause };
}

const refused: Answer<ApplyAnswer> = {
  ok: false,
  problem: { kind: "refused", message: "not valid", status: 422, causes: [] },
};

describe("a draft", () => {
  it("is checked once when the typing pauses, and applied after it passed", async () => {
    const { draft, sent, reply, pause } = editing();
    for (const text of ["kind: B", "kind: BC", "kind: BCD"]) draft.edit(text);
    await draft.apply();
    pause();
    assert.deepEqual(sent, [{ yaml: "kind: BCD", dryRun: true }]);
    await reply(0, { ok: true, value: applied });
    assert.equal(draft.state.value.step, "valid");
    const applying = draft.apply();
    assert.deepEqual(sent[1], { yaml: "kind: BCD", dryRun: false });
    await reply(1, { ok: true, value: applied });
    await applying;
    assert.equal(draft.state.value.step, "applied");
  });

  it("that is refused is not applied", async () => {
    const { draft, sent, reply, pause } = editing();
    draft.edit("kind: B");
    pause();
    await reply(0, refused);
    assert.equal(draft.state.value.step, "refused");
    await draft.apply();
    assert.equal(sent.length, 1);
  });

  it("has no answer of an older text", async () => {
    const { draft, reply, pause } = editing();
    draft.edit("kind: B");
    pause();
    draft.edit("kind: C");
    await reply(0, refused);
    assert.equal(draft.state.value.step, "checking");
  });

  it("that is as it was needs no check", () => {
    const { draft, sent, pause } = editing();
    draft.edit("kind: B");
    draft.edit("kind: A\n");
    pause();
    assert.deepEqual([sent.length, draft.state.value.step], [0, "unchanged"]);
  });
});

describe("problems of a draft", () => {
  it("stands at its line, else at the start of its document", () => {
    const text = "# a comment\nkind: A\nspec:\n  x: 1\n---\n\nkind: B\n";
    const causes = [
      { field: "spec.x", message: "one", line: 4, item: 0 },
      { field: "", message: "two", item: 1 },
      { field: "", message: "three" },
    ];
    const lines = [...causesByLine(text, causes)].map(([line, some]) => [line, some.map(({ message }) => message)]);
    assert.deepEqual(lines, [
      [4, ["one"]],
      [7, ["two"]],
      [2, ["three"]],
    ]);
  });
});
