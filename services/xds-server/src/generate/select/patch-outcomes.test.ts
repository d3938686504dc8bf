/** Outcomes of patches on one resource: the kinds that are counted, and each patch once. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ApplyTo, type Patch } from "../patch/patch.ts";
import { Outcomes } from "./patch-outcomes.ts";
import { findingOf } from "./patches.ts";

const patch = (applyTo: ApplyTo, object = "EnvoyFilter/shop/f") => ({ applyTo, object }) as Patch;

describe("outcomes of patches", () => {
  const kinds: readonly (readonly [ApplyTo, string | undefined])[] = [
    [ApplyTo.CLUSTER, "cluster"],
    [ApplyTo.LISTENER, "listener"],
    [ApplyTo.LISTENER_FILTER, "listenerfilter"],
    [ApplyTo.FILTER_CHAIN, "filterchain"],
    [ApplyTo.NETWORK_FILTER, "networkfilter"],
    [ApplyTo.HTTP_FILTER, "httpfilter"],
    [ApplyTo.ROUTE_CONFIGURATION, "route"],
    [ApplyTo.HTTP_ROUTE, "route"],
    [ApplyTo.VIRTUAL_HOST, "vhost"],
    [ApplyTo.EXTENSION_CONFIG, undefined],
    [ApplyTo.BOOTSTRAP, undefined],
  ];
  for (const [applyTo, kind] of kinds)
    it(`are ${kind === undefined ? "not counted" : `counted as ${kind}`}: ${ApplyTo[applyTo]}`, () => {
      const outcomes = new Outcomes();
      outcomes.note(patch(applyTo));
      const message = `${kind} applied`;
      const found = { metric: "pilot_envoy_filter_status", object: "EnvoyFilter/shop/f", message };
      assert.deepEqual(outcomes.list, kind === undefined ? [] : [found]);
    });

  it("are kept by object and result, each once, with those of the parts", () => {
    const [outcomes, part] = [new Outcomes(), new Outcomes()];
    assert.deepEqual(outcomes.list, []);
    for (const problem of [undefined, undefined, "odd"]) outcomes.note(patch(ApplyTo.CLUSTER), problem);
    part.note(patch(ApplyTo.HTTP_ROUTE, "EnvoyFilter/shop/g"));
    part.note(patch(ApplyTo.CLUSTER));
    outcomes.add(part.list);
    assert.deepEqual(
      outcomes.list.map(({ object, message }) => `${object} ${message}`),
      ["EnvoyFilter/shop/f cluster applied", "EnvoyFilter/shop/f cluster error", "EnvoyFilter/shop/g route applied"],
    );
  });
});

it("a problem of a patch is described by its place, and by the resource where it concerns one", () => {
  const problem = { object: "EnvoyFilter/shop/f", index: 2, path: "patch.value", reason: "is no object" };
  assert.deepEqual(findingOf(problem), {
    metric: "flotilla_envoy_filter_problem",
    object: "EnvoyFilter/shop/f",
    message: "spec.configPatches[2].patch.value is no object",
  });
  assert.equal(findingOf({ ...problem, path: "" }, "a").message, "spec.configPatches[2] is no object, on a");
});
