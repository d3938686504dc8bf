/** `flotilla version`. */
import { define } from "../parse/definition.ts";
import { output } from "./option-groups.ts";

export const version = define({
  name: "version",
  group: "This program:",
  summary: "show the version of flotilla and of Node",
  operands: {},
  options: { ...output },
  examples: [["version -o json", "for scripts"]],
});
