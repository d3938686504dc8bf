/** Bundles what the image holds: the five services and the command line. The one argument is the directory to write. */
import { resolve } from "node:path";
import { buildReleasedPage } from "../../packages/console/src/built-page.ts";
import { bundle } from "./bundle.ts";
import { imagePrograms } from "./image-programs.ts";

const [outDirectory] = process.argv.slice(2);
if (outDirectory === undefined) throw new Error("usage: image.ts DIRECTORY");
await buildReleasedPage();
await bundle({ entries: imagePrograms, outDirectory: resolve(outDirectory) });
