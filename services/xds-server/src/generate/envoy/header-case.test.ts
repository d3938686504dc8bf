/** The case of header names: as the peer wrote them only where that is asked for. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { headerCase } from "./header-case.ts";

it("names of headers stay as the peer wrote them where that is asked for", () => {
  assert.deepEqual(headerCase(false), {});
  const { headerKeyFormat } = headerCase(true);
  assert.equal(headerKeyFormat?.headerFormat.case, "statefulFormatter");
  assert.equal(headerKeyFormat.headerFormat.value.name, "preserve_case");
});
