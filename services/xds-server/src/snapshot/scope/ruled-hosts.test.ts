/** Hosts that may have a rule, or be balanced by consistent hashing: checked before anything of a rule is read. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@flotilla/proto";
import { aConfig, aMesh, aSidecar } from "../../testing/mesh.ts";
import { query } from "../view.ts";
import { mayBeHashed, mayHaveRule, rowOfRule, ruledHostRow } from "./ruled-hosts.ts";

const hash = { loadBalancer: { consistentHash: { useSourceIp: true } } };

const cases: readonly {
  readonly name: string;
  readonly rule: JsonObject;
  readonly host: string;
  readonly isRuled: boolean;
  readonly isHashed?: boolean;
}[] = [
  { name: "a rule for the host", rule: { host: "web.shop.example" }, host: "web.shop.example", isRuled: true },
  { name: "a rule for a host of the same first label", rule: { host: "web" }, host: "web.shop.example", isRuled: true },
  { name: "a rule for another host", rule: { host: "api.shop.example" }, host: "web.shop.example", isRuled: false },
  { name: "a wildcard that covers it", rule: { host: "*.shop.example" }, host: "web.shop.example", isRuled: true },
  { name: "a wildcard that does not", rule: { host: "*.other.example" }, host: "web.shop.example", isRuled: false },
  {
    name: "a rule that hashes",
    rule: { host: "web.shop.example", trafficPolicy: hash },
    host: "web.shop.example",
    isRuled: true,
    isHashed: true,
  },
  {
    name: "a subset that hashes",
    rule: { host: "*.shop.example", subsets: [{ name: "v1", trafficPolicy: hash }] },
    host: "web.shop.example",
    isRuled: true,
    isHashed: true,
  },
  {
    name: "a port that hashes",
    rule: { host: "web.shop.example", trafficPolicy: { portLevelSettings: [{ port: { number: 80 }, ...hash }] } },
    host: "web.shop.example",
    isRuled: true,
    isHashed: true,
  },
  {
    name: "a rule that balances otherwise",
    rule: { host: "web.shop.example", trafficPolicy: { loadBalancer: { simple: "RANDOM" } } },
    host: "web.shop.example",
    isRuled: true,
  },
];

describe("hosts with rules", () => {
  for (const { name, rule, host, isRuled, isHashed = false } of cases)
    it(name, () => {
      const core = aMesh(aConfig("DestinationRule", "elsewhere", "r", rule));
      const answers = query("test-rules", (view) => [mayHaveRule(view, host), mayBeHashed(view, host)]);
      assert.deepEqual(core.read(answers, core.subjectOf(aSidecar("shop"))), [isRuled, isHashed]);
    });

  it("rules for wildcards stand in one row of their namespace", () => {
    const rows = ["web.shop.example", "*.shop.example", "*"].map((host) => ruledHostRow.read(rowOfRule("shop", host)));
    assert.deepEqual(
      rows.map(({ namespace, host }) => `${namespace} ${host}`),
      ["shop web.shop.example", "shop *", "shop *"],
    );
  });
});
