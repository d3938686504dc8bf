/** Bundles the command line and the services into packages/cli/dist, which `npm pack` puts into the package. */
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { bundle, projectRoot } from "./bundle.ts";
import { imagePrograms } from "./image-programs.ts";

const outDirectory = join(projectRoot, "packages/cli/dist");
await bundle({ entries: imagePrograms, outDirectory });
for (const name of ["LICENSE", "NOTICE"]) await cp(join(projectRoot, name), join(outDirectory, name));
