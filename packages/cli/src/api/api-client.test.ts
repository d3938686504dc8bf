/** Refusals of the API with the places of files. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CliError } from "../errors.ts";
import { ApiRefusal, ignoredText, withPlaces } from "./api-client.ts";

const manifests = [
  { place: "a.yaml:1", object: { kind: "Gateway", metadata: { name: "g", namespace: "shop" } } },
  { place: "a.yaml:9", object: { kind: "Telemetry", metadata: { name: "t" } } },
];
const refused = (causes: ApiRefusal["causes"]) => () => Promise.reject(new ApiRefusal(422, "2 objects", causes));

describe("a refusal of the API", () => {
  it("names the place and object of each cause", async () => {
    const causes = [
      { field: "items[0].spec.servers", message: "none" },
      { field: "items[1]", message: "unknown" },
      { field: "items[7]", message: "too many" },
      { field: "metadata", message: "odd" },
    ];
    await assert.rejects(withPlaces(manifests, refused(causes)), (error: unknown) => {
      assert.ok(error instanceof CliError && error.cause instanceof ApiRefusal);
      assert.deepEqual(error.message.split("\n").slice(1), [
        "  a.yaml:1 Gateway shop/g: spec.servers none",
        "  a.yaml:9 Telemetry t: unknown",
        "  items[7]: too many",
        "  metadata: odd",
      ]);
      return true;
    });
  });
  it("without causes, like every other error, stays as it is", async () => {
    await assert.rejects(withPlaces(manifests, refused([])), ApiRefusal);
    const other = new Error("away");
    await assert.rejects(
      withPlaces(manifests, () => Promise.reject(other)),
      other,
    );
  });
  it("is none where the work is done", async () =>
    assert.equal(await withPlaces(manifests, () => Promise.resolve(3)), 3));
  it("is none of kinds that mean nothing to the mesh", () =>
    assert.equal(
      ignoredText({ apiVersion: "apps/v1", kind: "Deployment", count: 2 }),
      "2 Deployment (apps/v1) ignored: not configuration of the mesh",
    ));
});
