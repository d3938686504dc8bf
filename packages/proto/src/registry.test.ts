import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { registry, typeNameOf, typeUrl } from "./index.ts";
import { message } from "./registry.ts";

const generated = fileURLToPath(new URL("./gen/", import.meta.url));

describe("registry", () => {
  it("defines each message once", () => {
    const files = new Map<string, string>();
    for (const { name, messages } of registry.files) {
      for (const { typeName } of messages) {
        assert.equal(files.get(typeName), undefined, `${typeName} is in ${files.get(typeName)} and in ${name}`);
        files.set(typeName, name);
      }
    }
    assert.ok(files.size > 1000);
  });

  it("has a JSON name for every field", () => {
    for (const desc of registry) {
      if (desc.kind !== "message") continue;
      for (const field of desc.fields) assert.notEqual(field.jsonName, "", field.toString());
    }
  });

  it("has the message of every type URL that is served", () => {
    for (const url of Object.values(typeUrl)) {
      if (url.startsWith("type.googleapis.com/")) assert.ok(registry.getMessage(typeNameOf(url)), url);
    }
  });

  it("names what it lacks", () => {
    assert.throws(() => message("no.Such"), { code: "PROTO_UNKNOWN", message: /no\.Such/ });
  });

  it("answers every look-up of the generated modules", async () => {
    const names = globSync("**/*_pb.js", { cwd: generated });
    const modules = await Promise.all(names.map((name) => import(`${generated}${name}`) as Promise<object>));
    for (const [i, module] of modules.entries()) {
      for (const [name, value] of Object.entries(module)) assert.ok(value, `${names[i]}: ${name}`);
    }
    assert.ok(names.length > 500);
  });
});
