/** The help of `flotilla discovery`: pilot-discovery's flags in its users' terms, and those without an effect apart. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { recordRun } from "../recorded-run.fixture.ts";
import { optionKey } from "./discovery.ts";

describe("the help of flotilla discovery", async () => {
  const { out } = await recordRun(["discovery", "--help"]);
  const line = (flag: string) => out.split("\n").find((one) => new RegExp(`--${flag}\\b`).test(one)) ?? "none";

  it("shows flags with values, with a letter and without", () => {
    assert.match(line("meshConfig"), /^\s+--meshConfig <\S+>/);
    assert.match(line("namespace"), /^\s+-n, --namespace <\S+>/);
  });
  it("shows that switches may have a value", () => assert.match(line("profile"), /--profile \[BOOLEAN\]/));
  it("lists flags without an effect by themselves, with the reason", () => {
    const [, withEffect = "", without = ""] = out.split(/Flags of pilot-discovery(?: without an effect)?:/);
    assert.match(withEffect, /--meshConfig/);
    assert.match(without, /no effect: /);
    assert.doesNotMatch(withEffect, /no effect: /);
  });
  it("names options as its parser does", () =>
    assert.deepEqual(["secure-grpc-addr", "meshConfig"].map(optionKey), ["secureGrpcAddr", "meshConfig"]));
});
