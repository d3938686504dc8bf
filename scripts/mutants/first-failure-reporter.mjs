/** Reporter for Node's test runner: ends the process at the first failed test and prints its file and name. */
// biome-ignore lint/style/noDefaultExport: Node takes a reporter from the default export.
export default async function* firstFailure(events) {
  for await (const { type, data } of events) {
    if (type !== "test:fail") continue;
    const text = `failed in ${data.file}\nfailed: ${data.name}: ${data.details.error?.message}\n`;
    process.stderr.write(text, () => process.exit(1));
    yield "";
  }
}
