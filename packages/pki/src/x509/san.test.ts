/** Names of certificates: what a setting means, what is written, and what is refused. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { context } from "../der/tags.ts";
import { element, sequence } from "../der/writer.ts";
import { encodeName, parseName } from "./name.ts";
import { encodeSans, parseSans, type San, sanOf, spiffeIds } from "./san.ts";

describe("subject alternative names", () => {
  for (const [host, type] of [
    ["spiffe://td/ns/a/sa/b", "uri"],
    ["HTTPS://a", "uri"],
    ["a.test", "dns"],
    ["1a://b", "dns"],
    ["10.0.0.1", "ip"],
    ["fd00::1", "ip"],
  ] as const)
    it(`${host} is of the type ${type}`, () => assert.deepEqual(sanOf(host), { type, value: host }));

  const good: readonly (readonly [San, string?])[] = [
    [{ type: "uri", value: "spiffe://td/x" }],
    [{ type: "dns", value: "a.test" }],
    [{ type: "email", value: "a@b.test" }],
    [{ type: "ip", value: "10.1.2.255" }],
    [{ type: "ip", value: "::" }],
    [{ type: "ip", value: "::1" }],
    [{ type: "ip", value: "fd00::" }],
    [{ type: "ip", value: "1:2:3:4:5:6:7:8" }],
    [{ type: "ip", value: "FD00:0:0::A" }, "fd00::a"],
    [{ type: "ip", value: "::ffff:10.0.0.1" }, "::ffff:a00:1"],
  ];
  for (const [san, value = san.value] of good)
    it(`${san.type} ${san.value} is read as ${value}`, () =>
      assert.deepEqual(parseSans(encodeSans([san])), [{ ...san, value }]));

  for (const san of [
    { type: "dns", value: "" },
    { type: "uri", value: "spiffe://\u00e4" },
    { type: "email", value: "a\0b" },
    { type: "ip", value: "10.0.0" },
    { type: "color" as "ip", value: "red" },
  ] as const)
    it(`${san.type} ${JSON.stringify(san.value)} is not written`, () =>
      assert.throws(() => encodeSans([san]), { code: "PKI_BAD_SAN" }));

  it("of other kinds are skipped, broken ones are refused", () => {
    assert.deepEqual(parseSans(sequence(element(context(8), Buffer.of(42)), element(context(2), Buffer.from("a")))), [
      { type: "dns", value: "a" },
    ]);
    for (const [tag, bytes] of [
      [2, Buffer.from("a\0")],
      [7, Buffer.alloc(5)],
      // An address with a mask, as name constraints have them.
      [7, Buffer.alloc(8)],
    ] as const)
      assert.throws(() => parseSans(sequence(element(context(tag), bytes))), { code: "PKI_BAD_SAN" });
  });

  it("hold the SPIFFE identities among the URIs", () => {
    const sans = ["spiffe://td/x", "http://a", "a.test", "spiffe://td/y"].map(sanOf);
    assert.deepEqual(spiffeIds([...sans, { type: "dns", value: "spiffe://td/z" }]), ["spiffe://td/x", "spiffe://td/y"]);
  });
});

describe("distinguished names", () => {
  const inside = (der: Buffer): Buffer => der.subarray(2);
  it("are read as they were written", () => {
    for (const name of [{}, { organization: "o" }, { commonName: "\u00e4" }, { organization: "o", commonName: "c" }])
      assert.deepEqual(parseName(inside(encodeName(name))), name);
  });
  it("are those that come first", () => {
    const [a, b] = [
      { organization: "a", commonName: "a" },
      { organization: "b", commonName: "b" },
    ];
    assert.deepEqual(parseName(Buffer.concat([a, b].map((name) => inside(encodeName(name))))), a);
  });
  it("have 1 to 64 characters", () => {
    assert.ok(encodeName({ organization: "\u00e4".repeat(64) }).length > 64);
    for (const commonName of ["", "c".repeat(65)])
      assert.throws(() => encodeName({ organization: "o", commonName }), { code: "PKI_BAD_NAME" });
  });
});
