/** Answers about configuration, by the findings of the validation. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { noopLogger } from "@flotilla/runtime";
import type { Problem } from "@flotilla/validation";
import type { AdmissionRequest } from "../admission/review.ts";
import { createValidationHandler } from "./answer.ts";

const kind = { group: "networking.istio.io", version: "v1", kind: "VirtualService" };
const object = {
  ...{ apiVersion: "networking.istio.io/v1", kind: "VirtualService" },
  ...{ metadata: { name: "a", namespace: "shop" }, spec: { hosts: ["a"] } },
};
const validateAside = async (): Promise<never> => assert.fail("no small review is validated aside");
const problem = (field: string, severity: Problem["severity"]): Problem => ({ field, reason: "is wrong", severity });
const request = { uid: "u", kind, namespace: "shop", name: "a", operation: "CREATE", dryRun: false, object };

type Labels = Readonly<Record<"resource" | "version", string | number>> & { readonly reason?: string | number };

async function ask(more: Partial<AdmissionRequest>, ...problems: readonly Problem[]) {
  const counted: string[] = [];
  const counter = (name: string) => ({
    add: (_: number, labels: Labels) =>
      void counted.push([name, labels.resource, labels.version, labels.reason].join(" ").trim()),
  });
  const metrics = { passed: counter("passed"), failed: counter("failed") };
  const handler = createValidationHandler({ validate: () => problems, validateAside, log: noopLogger, metrics });
  return { ...(await handler({ ...request, ...more } as AdmissionRequest)), counted };
}

describe("configuration", () => {
  it("passes without problems, and with warnings", async () => {
    assert.deepEqual(await ask({}), { allowed: true, counted: ["passed virtualservices v1"] });
    const { allowed, warnings } = await ask(
      { operation: "UPDATE" },
      problem("spec.a", "warning"),
      problem("spec.b", "warning"),
    );
    assert.deepEqual([allowed, warnings?.length], [true, 2]);
    assert.match(warnings?.[1] ?? "", /^spec\.b.* is wrong/);
  });

  it("is refused with its errors alone", async () => {
    const { allowed, message, counted } = await ask(
      {},
      problem("spec.w", "warning"),
      problem("spec.a", "error"),
      problem("spec.b", "error"),
    );
    assert.deepEqual([allowed, counted], [false, ["failed virtualservices v1 invalid_resource"]]);
    assert.match(message ?? "", /^configuration is invalid: spec\.a.* is wrong; spec\.b.* is wrong$/);
  });

  it("of another controller passes with warnings", async () => {
    const counter = { add: () => undefined };
    const validate = () => [problem("spec.a", "error")];
    const metrics = { passed: counter, failed: counter };
    const judge = createValidationHandler({ validate, validateAside, log: noopLogger, metrics, concerns: () => false });
    const { allowed, warnings } = await judge(request as AdmissionRequest);
    assert.deepEqual([allowed, warnings], [true, ["spec.a: is wrong"]]);
  });

  for (const operation of ["DELETE", "CONNECT"])
    it(`is not judged by ${operation}`, async () =>
      assert.deepEqual(await ask({ operation, object: undefined }, problem("spec", "error")), {
        allowed: true,
        counted: [],
      }));

  const refused: readonly (readonly [string, Partial<AdmissionRequest>, RegExp, string])[] = [
    [
      "of an unknown kind",
      { kind: { ...kind, kind: "Thing" } },
      /unrecognized type .* Thing$/,
      "unknown unknown unknown_kind",
    ],
    [
      "without an object",
      { object: undefined },
      /VirtualService has no object$/,
      "virtualservices v1 yaml_decode_error",
    ],
    [
      "of a kind that is not its own",
      { object: { ...object, kind: "Gateway" } },
      /the object is no VirtualService$/,
      "virtualservices v1 yaml_decode_error",
    ],
    [
      "whose labels are no texts",
      { object: { ...object, metadata: { labels: { a: 1 } } } as never },
      /cannot decode configuration: the object/,
      "virtualservices v1 yaml_decode_error",
    ],
    [
      "of a dry run",
      { object: undefined, dryRun: true },
      /has no object \(dry run\)$/,
      "virtualservices v1 yaml_decode_error",
    ],
  ];
  for (const [name, more, message, labels] of refused)
    it(`is refused ${name}`, async () => {
      const answer = await ask(more);
      assert.deepEqual([answer.allowed, answer.counted], [false, [`failed ${labels}`]]);
      assert.match(answer.message ?? "", message);
    });
});
