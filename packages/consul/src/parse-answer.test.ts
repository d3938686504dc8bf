/** Decoding of Consul's answers, and rejection of wrong ones. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseDatacenters, parseInstances, parseServiceNames } from "./parse-answer.ts";

const whole = {
  Node: { Node: "n1", Address: "10.0.0.1", Datacenter: "dc1" },
  Service: {
    ...{ ID: "web-1", Address: "10.0.0.9", Port: 8080, Kind: "connect-proxy", Tags: ["v1", null] },
    ...{ Meta: { a: "b" }, TaggedAddresses: { lan: { Address: "10.1.0.1", Port: 1 } } },
    ...{ Weights: { Passing: 5, Warning: 2 }, Locality: { Region: "r", Zone: "z" } },
  },
  Checks: [{ Status: "passing" }, { Status: "critical" }],
};
/** The answer with a value in place of what the path names. */
const withValue = (path: string, value: unknown): unknown => {
  const copy = structuredClone(whole) as Record<string, unknown>;
  const keys = path.split(".");
  const last = keys.pop() ?? "";
  let at = copy;
  for (const key of keys) at = at[key] as Record<string, unknown>;
  at[last] = value;
  return copy;
};

describe("instances of a service", () => {
  it("have what Consul says of them", () => {
    assert.deepEqual(parseInstances([whole]), {
      problems: [],
      instances: [
        {
          ...{ kind: "connect-proxy", node: "n1", nodeAddress: "10.0.0.1", datacenter: "dc1", id: "web-1" },
          ...{ address: "10.0.0.9", port: 8080, tags: ["v1", ""], meta: { a: "b" } },
          taggedAddresses: { lan: "10.1.0.1" },
          weights: { passing: 5, warning: 2 },
          locality: { region: "r", zone: "z" },
          checks: ["passing", "critical"],
        },
      ],
    });
  });

  it("have defaults for what is left out or null", () => {
    const none = {
      Node: {},
      Service: { Tags: null, Meta: null, Weights: null, Port: null, Locality: null },
      Checks: null,
    };
    assert.deepEqual(parseInstances([none]).instances, [
      {
        ...{ node: "", nodeAddress: "", datacenter: "", id: "", address: "", port: 0, tags: [], meta: {} },
        ...{ taggedAddresses: {}, weights: { passing: 1, warning: 1 }, locality: { region: "", zone: "" }, checks: [] },
      },
    ]);
  });

  const wrong: readonly (readonly [path: string, value: unknown, field: string, reason: string])[] = [
    ["Node", null, "Node", "is no object"],
    ["Node", "n1", "Node", "is no object"],
    ["Node.Node", 7, "Node.Node", "is no text"],
    ["Service", [], "Service", "is no object"],
    ["Service.Kind", 1, "Service.Kind", "is no text"],
    ["Service.Port", "80", "Service.Port", "is no whole number"],
    ["Service.Port", 80.5, "Service.Port", "is no whole number"],
    ["Service.Tags", "v1", "Service.Tags", "is no list"],
    ["Service.Tags", ["a", 1], "Service.Tags[1]", "is no text"],
    ["Service.Meta", { a: 1 }, "Service.Meta[a]", "is no text"],
    ["Service.Meta", "a", "Service.Meta", "is no object"],
    ["Service.TaggedAddresses", { lan: "10.0.0.1" }, "Service.TaggedAddresses[lan]", "is no object"],
    ["Service.TaggedAddresses", { lan: { Address: 1 } }, "Service.TaggedAddresses[lan].Address", "is no text"],
    ["Service.Weights", { Passing: "5" }, "Service.Weights.Passing", "is no whole number"],
    ["Service.Weights", { Warning: 0.5 }, "Service.Weights.Warning", "is no whole number"],
    ["Service.Locality", { Region: 1 }, "Service.Locality.Region", "is no text"],
    ["Checks", {}, "Checks", "is no list"],
    ["Checks", [null], "Checks[0]", "is no object"],
    ["Checks", [{}, { Status: 1 }], "Checks[1].Status", "is no text"],
  ];
  for (const [path, value, field, reason] of wrong)
    it(`are left out where ${path} is ${JSON.stringify(value)}, and the others stay`, () => {
      const { instances, problems } = parseInstances([withValue(path, value), whole]);
      assert.equal(instances.length, 1);
      const id = path === "Service" ? "[0]" : "web-1";
      assert.deepEqual(problems, [{ id, field, reason: `${reason}: the instance is left out` }]);
    });

  it("are named by their place where they have no id", () => {
    const { problems } = parseInstances([whole, withValue("Service.ID", 7), null]);
    assert.deepEqual(
      problems.map(({ id, field }) => [id, field]),
      [
        ["[1]", "Service.ID"],
        ["[2]", ""],
      ],
    );
  });
});

describe("answers that are none", () => {
  const refused: readonly (readonly [name: string, parse: () => unknown, message: RegExp])[] = [
    ["instances", () => parseInstances({}), /health\/service: the answer is no list/],
    ["names", () => parseServiceNames([]), /catalog\/services: the answer is no object/],
    ["names", () => parseServiceNames(null), /catalog\/services: the answer is no object/],
    ["datacenters", () => parseDatacenters({}), /catalog\/datacenters: the answer is no list of names/],
    ["datacenters", () => parseDatacenters(["dc1", 2]), /catalog\/datacenters: the answer is no list of names/],
  ];
  for (const [name, parse, message] of refused)
    it(`are refused: ${name}, ${message.source}`, () => assert.throws(parse, { code: "CONSUL_ANSWER", message }));

  it("names are sorted, datacenters stay in their order", () => {
    assert.deepEqual(parseServiceNames({ web: [], api: ["v1"] }), ["api", "web"]);
    assert.deepEqual(parseDatacenters(["dc2", "dc1"]), ["dc2", "dc1"]);
  });
});
