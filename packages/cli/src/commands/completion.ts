/** `flotilla completion SHELL`. */
import { completionScripts } from "../completion/scripts.ts";
import type { completion as definition } from "../definitions/support.ts";
import { CliError } from "../errors.ts";
import type { Run } from "../parse/definition.ts";

export const completion: Run<typeof definition> = async ({ operands: { shell }, terminal }) => {
  const script = completionScripts.get(shell);
  if (script === undefined)
    throw new CliError("CLI_USAGE", `${shell} is none of ${[...completionScripts.keys()].join(", ")}`);
  terminal.write(script);
  return 0;
};
