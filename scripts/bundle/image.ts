/** Bundles what the image holds: the five services and the command line. The one argument is the directory to write. */
import { resolve } from "node:path";
import { bundleRelease } from "./release.ts";

const [outDirectory] = process.argv.slice(2);
if (outDirectory === undefined) throw new Error("usage: image.ts DIRECTORY");
await bundleRelease(resolve(outDirectory));
