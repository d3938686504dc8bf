/** Health check of a container: ends with 1, and the reason on stderr, when it fails. */
import { checkContainer } from "../src/image/container-check.ts";

try {
  await checkContainer(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
