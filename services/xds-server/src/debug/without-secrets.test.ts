import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { jsonDifferences } from "@flotilla/model";
import { withoutSecrets } from "./without-secrets.ts";

describe("configuration without secrets", () => {
  it("hides keys and passwords at any depth, and keeps the shape", () => {
    const shown = withoutSecrets({
      name: "tls",
      tlsCertificate: {
        certificateChain: { inlineString: "CHAIN" },
        privateKey: { inlineBytes: "S0VZ" },
        password: { inlineString: "hunter2" },
      },
      list: [
        { sessionTicketKeys: { keys: [{ inlineString: "TICKET" }] } },
        { genericSecret: { secret: { filename: "/f" } } },
      ],
    });
    const text = JSON.stringify(shown);
    assert.doesNotMatch(text, /S0VZ|hunter2|TICKET/);
    assert.match(text, /CHAIN/);
    assert.match(text, /"filename":"\/f"/);
  });
});

it("keeps how an accelerator uses a key", () => {
  const typedConfig = { "@type": "t", pollDelay: "0.010s", privateKey: { inlineBytes: "S0VZ" } };
  const provider = { providerName: "qat", fallback: true, typedConfig };
  const shown = JSON.stringify(withoutSecrets({ privateKeyProvider: provider }));
  assert.doesNotMatch(shown, /S0VZ/);
  assert.match(shown, /"providerName":"qat","fallback":true,.*"pollDelay":"0.010s"/);
});

describe("differences", () => {
  for (const [name, before, after, expected] of [
    ["equal values", { a: [1, { b: 2 }] }, { a: [1, { b: 2 }] }, []],
    ["a field", { a: 1 }, { a: 2 }, ["a: 1 → 2"]],
    ["a field that came", {}, { a: 1 }, ["a: undefined → 1"]],
    [
      "named elements in another order",
      { l: [{ name: "x" }, { name: "y" }] },
      { l: [{ name: "y" }, { name: "x" }] },
      [],
    ],
    ["a named element", { l: [{ name: "x", v: 1 }] }, { l: [{ name: "x", v: 2 }] }, ["l[x].v: 1 → 2"]],
    [
      "elements of one name go by place",
      [{ name: "x", v: 1 }, { name: "x" }],
      [{ name: "x", v: 2 }, { name: "x" }],
      ["[0].v: 1 → 2"],
    ],
    ["another type", { a: [1] }, { a: "1" }, ["a: 1 → 1"]],
  ] as const) {
    it(name, () => {
      const found = jsonDifferences(before as never, after as never);
      assert.deepEqual(
        found.map(({ path, before: old, after: now }) => `${path}: ${old} → ${now}`),
        expected,
      );
    });
  }
});
