import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { equals, type JsonObject, toBinary } from "@bufbuild/protobuf";
import { decode, encode, fromJson, registry, toJson, typeNameOf } from "./index.ts";

const scenarios = fileURLToPath(new URL("../../../../shared/scenarios", import.meta.url));
const skip = !existsSync(scenarios) && "no captured configurations beside the project";

interface Resource {
  readonly where: string;
  readonly type: string;
  readonly json: JsonObject;
}

/** Every different resource of the captured configurations. */
function resources(): readonly Resource[] {
  const found = new Map<string, Resource>();
  for (const file of globSync("**/golden/**/*.json", { cwd: scenarios })) {
    const { typeUrl, resources: byName } = JSON.parse(readFileSync(join(scenarios, file), "utf8"));
    for (const [name, { "@type": _, ...json }] of Object.entries<JsonObject>(byName)) {
      found.set(JSON.stringify(json), { where: `${file} ${name}`, type: typeNameOf(typeUrl), json });
    }
  }
  return [...found.values()];
}

describe("captured configurations", { skip }, () => {
  it("come back from JSON → message → bytes → message → JSON as they were", () => {
    const all = resources();
    for (const { where, type, json } of all) {
      const desc = registry.getMessage(type);
      assert.ok(desc, type);
      const message = fromJson(desc, json);
      const bytes = encode(desc, message);
      const decoded = decode(desc, bytes);
      assert.ok(equals(desc, decoded, decode(desc, toBinary(desc, message))), where);
      assert.deepEqual(toJson(desc, decoded), json, where);
    }
    assert.ok(all.length > 1000, `only ${all.length} resources`);
  });
});
