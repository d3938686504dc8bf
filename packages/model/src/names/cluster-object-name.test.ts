import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { clusterObjectName, parseClusterObjectName } from "./cluster-object-name.ts";
import { parseCredentialName } from "./credential-name.ts";
import { problemOfName } from "./object-name.ts";

describe("the name of an object of another cluster", () => {
  for (const cluster of ["east", "east.example-1", "arn:aws:eks:eu-1:12:cluster/east", "100%", "a b", "größer"])
    it(`has the cluster ${cluster} behind it, without a slash`, () => {
      const text = clusterObjectName({ name: "pair-cacert", cluster });
      assert.deepEqual(parseClusterObjectName(text), { name: "pair-cacert", cluster });
      assert.ok(!/[/\s]/.test(text), text);
    });

  it("is none that an object, or an SDS resource, can have", () => {
    const name = clusterObjectName({ name: "pair", cluster: "east" });
    assert.equal(name, "pair%east");
    assert.match(problemOfName(name) ?? "", /must not contain "%"/);
    assert.equal(parseCredentialName(`kubernetes://${name}`), undefined);
    assert.equal(parseCredentialName(`kubernetes-gateway://shop/${name}`), undefined);
  });

  for (const text of ["pair", "", "%east", "pair%", "pair%e%zz", "pair%%FF"])
    it(`is not ${JSON.stringify(text)}`, () => assert.equal(parseClusterObjectName(text), undefined));
});
