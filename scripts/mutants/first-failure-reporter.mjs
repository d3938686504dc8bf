/** Reporter for Node's test runner: ends the process at the first failed test and prints its name. */
// biome-ignore lint/style/noDefaultExport: Node takes a reporter from the default export.
export default async function* firstFailure(events) {
  for await (const { type, data } of events) {
    if (type !== "test:fail") continue;
    process.stderr.write(`failed: ${data.name}: ${data.details.error?.message}\n`, () => process.exit(1));
    yield "";
  }
}
