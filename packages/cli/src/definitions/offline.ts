/** Commands that check and describe objects without a control plane. */
import { define } from "../parse/definition.ts";
import { choice, textOr } from "../parse/option-kinds.ts";
import { file } from "./option-groups.ts";

const group = "Objects of files:";

export const validate = define({
  name: "validate",
  group,
  summary: "check objects of files, with line and column of each mistake, without a control plane",
  details:
    "The checks are those of the webhook and the API: schemas, and what fields mean. ConfigMaps with a MeshConfig are checked too; objects of other projects are left out.",
  operands: {},
  options: {
    file,
    output: choice("-o, --output <FORMAT>", "format of the output", ["text", "json", "sarif"]),
  },
  examples: [
    ["validate -f mesh/", "every object of a directory"],
    ["validate -f mesh/ -o sarif", "for CI systems that annotate changes"],
  ],
  exitCodes: { 0: "no object would be refused; there may be warnings", 3: "an object would be refused" },
});

export const schema = define({
  name: "schema",
  group,
  summary: "write JSON schemas of all kinds, for editors that complete and check fields",
  operands: {},
  options: { out: textOr("--out <DIR>", "directory that is created or written into", "schemas") },
  examples: [["schema --out .vscode/schemas", "one file for each kind, and all.json for any object"]],
});
