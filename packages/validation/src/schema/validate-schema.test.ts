import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { problemText } from "../problem.ts";
import { createSchemaValidator, type SchemaOptions } from "./validate-schema.ts";

const validate = createSchemaValidator();

function entry(spec: unknown, apiVersion = "networking.istio.io/v1"): Readonly<Record<string, unknown>> {
  return { apiVersion, kind: "ServiceEntry", metadata: { name: "a" }, spec };
}
function route(spec: unknown): Readonly<Record<string, unknown>> {
  return { apiVersion: "networking.istio.io/v1beta1", kind: "VirtualService", metadata: { name: "a" }, spec };
}

const cases: readonly {
  name: string;
  object: Readonly<Record<string, unknown>>;
  options?: SchemaOptions;
  problems: readonly string[];
}[] = [
  {
    name: "a good object",
    object: entry({ hosts: ["a.example"], ports: [{ number: 80, name: "http" }] }),
    problems: [],
  },
  { name: "any served version", object: entry({ hosts: ["a.example"] }, "networking.istio.io/v1alpha3"), problems: [] },
  {
    name: "a version that is not served",
    object: entry({ hosts: ["a.example"] }, "networking.istio.io/v2"),
    problems: ['apiVersion: Unsupported value: "v2": ServiceEntry is served as v1, v1alpha3, v1beta1'],
  },
  {
    name: "a kind without a schema",
    object: { apiVersion: "v1", kind: "Service", spec: { anything: 1 } },
    problems: [],
  },
  { name: "a missing field", object: entry({}), problems: ["spec.hosts: Required value"] },
  {
    name: "a wrong type",
    object: entry({ hosts: "a.example" }),
    problems: ['spec.hosts: Invalid value: "string": spec.hosts in body must be of type array: "string"'],
  },
  ...(
    [
      ["a number where an integer belongs", 1.5, "int32", "float64"],
      ["a boolean where an integer belongs", true, "int32", ""],
      ["an empty object where an integer belongs", {}, "int32", ""],
      ["a text where an integer belongs", "2", "integer", "string"],
      ["a list where an integer belongs", [1], "integer", "array"],
    ] as const
  ).map(([name, attempts, wanted, found]) => ({
    name,
    object: route({ hosts: ["a"], http: [{ retries: { attempts } }] }),
    problems: [
      `spec.http[0].retries.attempts: Invalid value: "${found}": spec.http[0].retries.attempts in body must be of type ${wanted}: "${found}"`,
    ],
  })),
  {
    name: "a number without a format where a text belongs",
    object: route({ hosts: [1.5] }),
    problems: ['spec.hosts[0]: Invalid value: "number": spec.hosts[0] in body must be of type string: "number"'],
  },
  {
    name: "an unknown field, deep inside",
    object: route({ hosts: ["a"], http: [{ rout: [] }] }),
    problems: ["spec.http[0].rout: unknown field"],
  },
  {
    name: "an unknown field that is not reported",
    object: route({ hosts: ["a"], wrong: 1 }),
    options: { unknownFields: "Ignore" },
    problems: [],
  },
  {
    name: "an unknown field beside the spec",
    object: { ...route({ hosts: ["a"] }), data: {} },
    problems: ["data: unknown field"],
  },
  {
    name: "a value outside of an enum",
    object: entry({ hosts: ["a.example"], resolution: "GUESS" }),
    problems: [
      'spec.resolution: Unsupported value: "GUESS": supported values: "NONE", "STATIC", "DNS", "DNS_ROUND_ROBIN", "DYNAMIC_DNS"',
    ],
  },
  { name: "a null counts as absent", object: route({ hosts: ["a"], http: null }), problems: [] },
  {
    name: "a null counts as a value when asked for",
    object: route({ hosts: ["a"], http: null }),
    options: { dropNulls: false },
    problems: ['spec.http: Invalid value: "null": spec.http in body must be of type array: "null"'],
  },
  {
    name: "two items with one key",
    object: entry({
      hosts: ["a.example"],
      ports: [
        { name: "a", number: 1 },
        { name: "a", number: 2 },
      ],
    }),
    problems: ['spec.ports[1]: Duplicate value: {"name":"a"}'],
  },
  {
    name: "a rule over several fields",
    object: entry({ hosts: ["a.example"], resolution: "NONE", endpoints: [{ address: "1.1.1.1" }] }),
    problems: ["spec: Invalid value: NONE mode cannot set endpoints"],
  },
  {
    name: "one of two, of which both are set",
    object: route({ hosts: ["a"], http: [{ match: [{ uri: { exact: "/a", prefix: "/b" } }] }] }),
    problems: [
      'spec.http[0].match[0].uri: Invalid value: {"exact":"/a","prefix":"/b"}: spec.http[0].match[0].uri in body must validate one and only one schema (oneOf). Found 2 valid alternatives',
    ],
  },
];

describe("validateSchema", () => {
  for (const { name, object, options, problems } of cases) {
    it(name, () => assert.deepEqual(validate(object, options).map(problemText), problems));
  }
});
