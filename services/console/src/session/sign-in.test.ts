/** Whose a token is, as two services prove it. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { NoAnswer, servicesWith } from "../upstream/answers.fixture.ts";
import { callerOfToken } from "./sign-in.ts";

const signIn = (token: unknown, seen: unknown, writing: unknown) => {
  const { services } = servicesWith({ "xds-server /debug/caller": seen, "config-controller /debug/caller": writing });
  return callerOfToken(services, { token });
};
const ann = { account: "ann", mayWrite: false };
const writer = { account: "ann", mayWrite: true };
const ofShop = { ...ann, onlyNamespace: "shop" };
const gone = new NoAnswer("gone");
const refused = new NoAnswer("not yours", 403);
const jwt = (payload: unknown) => `a.${Buffer.from(JSON.stringify(payload)).toString("base64url")}.c`;

describe("signing in", () => {
  const proven: readonly (readonly [name: string, seen: unknown, writing: unknown, caller: object])[] = [
    ["both prove", ann, writer, { account: "ann", mayWrite: true }],
    ["both prove, and who may not write", ann, ann, { account: "ann", mayWrite: false }],
    ["xds-server alone proves", { ...writer }, gone, { account: "ann", mayWrite: false }],
    [
      "config-controller alone proves",
      gone,
      { ...writer, onlyNamespace: "shop" },
      { account: "ann", mayWrite: true, onlyNamespace: "shop" },
    ],
    ["one refuses", refused, writer, { account: "ann", mayWrite: true }],
    ["sees one namespace", ofShop, writer, { account: "ann", mayWrite: true, onlyNamespace: "shop" }],
    [
      "sees all, whatever config-controller has",
      ann,
      { ...writer, onlyNamespace: "shop" },
      { account: "ann", mayWrite: true },
    ],
  ];
  for (const [name, seen, writing, caller] of proven)
    it(`takes a caller whom ${name}`, async () =>
      assert.deepEqual(await signIn(" word ", seen, writing), { token: "word", caller }));

  const refusals: readonly (readonly [name: string, seen: unknown, writing: unknown, code: string])[] = [
    ["both refuse", refused, refused, "bad-token"],
    ["one refuses and the other is away", gone, refused, "bad-token"],
    ["the other refuses", new NoAnswer("", 401), gone, "bad-token"],
    ["both are away", gone, gone, "away"],
    ["both fail", new NoAnswer("", 500), new NoAnswer("", 404), "away"],
  ];
  for (const [name, seen, writing, code] of refusals)
    it(`is refused where ${name}`, () => assert.rejects(signIn("word", seen, writing), { code }));

  for (const [token, code] of [
    [undefined, "bad-request"],
    [7, "bad-request"],
    ["", "bad-request"],
    ["  ", "bad-request"],
    ["two words", "bad-token"],
    ["a\u00e9", "bad-token"],
    ["x".repeat(12_001), "bad-token"],
  ] as const)
    it(`sends no review of ${JSON.stringify(token)?.slice(0, 20)}`, async () => {
      const { services, asked } = servicesWith({});
      await assert.rejects(callerOfToken(services, { token }), { code });
      assert.deepEqual(asked, []);
    });

  it("takes the longest token", async () => {
    const token = "x".repeat(12_000);
    assert.equal((await signIn(token, ann, ann)).token, token);
  });

  it("sends no review without a body", () =>
    assert.rejects(callerOfToken(servicesWith({}).services, null), { code: "bad-request" }));

  for (const [name, token, expected] of [
    ["of a token that ends", jwt({ exp: 7 }), 7_000],
    ["of none that has no end", jwt({}), undefined],
    ["of none whose end is a text", jwt({ exp: "7" }), undefined],
    ["of none that is null", jwt(null), undefined],
    ["of none that is no JWT", "a.b.c", undefined],
  ] as const)
    it(`knows the end ${name}`, async () =>
      assert.equal((await signIn(token, ann, ann)).caller.tokenExpiresAtMs, expected));
});
