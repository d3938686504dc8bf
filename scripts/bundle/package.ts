/** Bundles the command line and the services into packages/cli/dist, with manual pages, which `npm pack` puts into the package. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { commands } from "../../packages/cli/src/commands.ts";
import { commandPage, overviewPage, pageName } from "../../packages/cli/src/manual/page.ts";
import { packageVersion } from "../../packages/cli/src/parse/program.ts";
import { projectRoot } from "./bundle.ts";
import { bundleRelease } from "./release.ts";

const outDirectory = join(projectRoot, "packages/cli/dist");
await bundleRelease(outDirectory);

const manual = { version: packageVersion(), commands: commands.map(({ definition }) => definition) };
const manDirectory = join(outDirectory, "man");
await mkdir(manDirectory);
await writeFile(join(manDirectory, "flotilla.1"), overviewPage(manual));
for (const definition of manual.commands)
  await writeFile(join(manDirectory, `${pageName(definition.name)}.1`), commandPage(definition, manual));
