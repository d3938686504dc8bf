/** The programs of this repository, for tests that start them. Apart from index.ts, whose property tests and attacks they need not load. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/**
 * The file of a program: `packages/cli/bin/flotilla` or `services/NAME/bin/main`. In whole runs that of the bundle that FLOTILLA_TEST_BUNDLE names,
 * as images have it: it starts in less than half the time of the sources.
 */
export function programFile(name: string): string {
  const { FLOTILLA_TEST_BUNDLE: bundle } = process.env;
  return bundle === undefined ? join(root, `${name}.ts`) : join(bundle, `${name}.js`);
}
