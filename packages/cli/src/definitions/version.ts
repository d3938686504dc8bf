/** `flotilla version`. */
import { define } from "../parse/definition.ts";
import { flag } from "../parse/option-kinds.ts";
import { connection, output } from "./option-groups.ts";

export const version = define({
  name: "version",
  progress: "asking the services",
  group: "This program:",
  summary: "show the version of flotilla and of Node",
  operands: {},
  options: {
    short: flag("--short", "one line, as without an output format"),
    ...output,
    remote: flag("--remote", "the versions of the running services too"),
    ...connection,
  },
  examples: [
    ["version -o json", "for scripts"],
    ["version --remote", "this program and every replica of every service"],
  ],
});
