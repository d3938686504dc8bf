/** For runs that start services some hundred times: the bundle that images have, of the present sources. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { root } from "./find-files.ts";

/** Makes the bundle. @returns its folder, the value of FLOTILLA_TEST_BUNDLE */
export function bundleServices(): string {
  const directory = join(root, "node_modules/.cache/test-bundle");
  execFileSync(process.execPath, [join(root, "scripts/bundle/image.ts"), directory], { stdio: "inherit" });
  return directory;
}
