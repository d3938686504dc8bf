/** `flotilla man [COMMAND]`: a manual page. */
import type { man as definition } from "../definitions/support.ts";
import { CliError } from "../errors.ts";
import { commandPage, overviewPage } from "../manual/page.ts";
import type { Run } from "../parse/definition.ts";
import { packageVersion } from "../parse/program.ts";

export const man: Run<typeof definition> = async ({ operands: { words }, terminal, definitions: commands }) => {
  const name = words.join(" ");
  const options = { version: packageVersion(), commands };
  const found = options.commands.find((command) => command.name === name);
  if (found === undefined && name !== "") throw new CliError("CLI_USAGE", `there is no command ${name}`);
  terminal.write(found === undefined ? overviewPage(options) : commandPage(found, options));
  return 0;
};
