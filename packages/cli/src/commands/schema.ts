/** `flotilla schema --out DIR`: JSON schemas of all kinds, for editors. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { editorSchemas } from "@flotilla/validation";
import type { schema as definition } from "../definitions/offline.ts";
import type { Run } from "../parse/definition.ts";

export const schema: Run<typeof definition> = async ({ options, terminal }) => {
  const directory = resolve(options.out);
  mkdirSync(directory, { recursive: true });
  const schemas = editorSchemas();
  const write = (name: string, value: object) =>
    writeFileSync(join(directory, `${name}.json`), `${JSON.stringify(value, undefined, 2)}\n`);
  for (const [kind, one] of schemas) write(kind, one);
  // One for files of several kinds: kind and group of an object decide, since Istio and the Gateway API each have a Gateway.
  const branches = [...schemas].map(([name, { title, properties }]) => {
    const { apiVersion } = properties as { readonly apiVersion: object };
    return {
      if: { required: ["apiVersion", "kind"], properties: { apiVersion, kind: { const: title } } },
      // biome-ignore lint/suspicious/noThenProperty: a word of JSON schema
      then: { $ref: `${name}.json` },
    };
  });
  write("all", { $schema: "http://json-schema.org/draft-07/schema#", title: "Objects of the mesh", allOf: branches });
  terminal.print(`${schemas.size + 1} schemas in ${directory}`);
  return 0;
};
