/** The page of a rotation: what it shows, and which failures it answers with a reason. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CaError } from "../errors.ts";
import type { Rotation } from "../rotation/rotation.ts";
import { rotationPage } from "./pages.ts";

const pageOf = (status: () => Promise<unknown>) => rotationPage({ status } as unknown as Rotation);

describe("the page of a rotation", () => {
  it("shows the phase with its meaning", async () => {
    const reply = await pageOf(async () => ({ state: { phase: "idle" }, waitingFor: [] }));
    assert.deepEqual(reply, { json: { phase: "idle", meaning: "no rotation is running", waitingFor: [] } });
  });
  it("answers with the reason of what ca refuses", async () => {
    const reply = await pageOf(() => Promise.reject(new CaError("CA_BAD_BUNDLE", "the root is not ours")));
    assert.deepEqual(reply, { status: 409, json: { error: "the root is not ours" } });
  });
  it("fails with every other failure", async () => {
    await assert.rejects(
      pageOf(() => Promise.reject(new TypeError("a defect"))),
      TypeError,
    );
  });
});
