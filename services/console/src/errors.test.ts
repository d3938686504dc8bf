/** Refusals as their callers get them, and codes for the statuses of services. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { codeOf, RequestRefused } from "./errors.ts";

describe("a refused request", () => {
  it("has a status, a code and the reason", () => {
    const refused = new RequestRefused("too-large", "more than 1 MB");
    assert.equal(refused.status, 413);
    assert.deepEqual(refused.error, { code: "too-large", message: "more than 1 MB" });
  });
  it("has its causes where there are some", () => {
    const causes = [{ item: 1, field: "spec.hosts", message: "is required" }];
    const { error } = new RequestRefused("invalid", "two documents are wrong", causes);
    assert.deepEqual(error, { code: "invalid", message: "two documents are wrong", causes });
  });
});

describe("the code for a status of a service", () => {
  const cases = [
    [400, "bad-request"],
    [401, "forbidden"],
    [403, "forbidden"],
    [404, "not-found"],
    [409, "conflict"],
    [413, "too-large"],
    [422, "invalid"],
    [429, "too-many"],
    [500, "upstream"],
    [503, "upstream"],
  ] as const;
  for (const [status, code] of cases) it(`${status} is ${code}`, () => assert.equal(codeOf(status), code));
});
