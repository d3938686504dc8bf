import assert from "node:assert/strict";
import { test } from "node:test";
import { countOpen } from "./count-open.ts";
import type { HttpsReply } from "./https-server.ts";

const request = { method: "POST", path: "/inject", contentType: "application/json", body: new Uint8Array() };

test("requests are open until they are answered, also where the answer fails", async () => {
  const waiting = Promise.withResolvers<HttpsReply>();
  const counted = countOpen(() => waiting.promise);
  const answers = [counted.answer(request), counted.answer(request)];
  assert.equal(counted.open, 2);
  waiting.reject(new Error("no answer"));
  await Promise.allSettled(answers);
  assert.equal(counted.open, 0);
});
