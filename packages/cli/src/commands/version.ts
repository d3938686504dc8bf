/** `flotilla version`. */
import type { version as definition } from "../definitions/version.ts";
import { formatOf, render } from "../output.ts";
import type { Run } from "../parse/definition.ts";
import { packageVersion } from "../parse/program.ts";

export const version: Run<typeof definition> = async ({ options, terminal }) => {
  const value = { flotilla: packageVersion(), node: process.versions.node };
  terminal.print(render(formatOf(options), value, ({ flotilla, node }) => `flotilla ${flotilla} (node ${node})`));
  return 0;
};
