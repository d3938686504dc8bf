/**
 * Reporter for Node's test runner: one JSON line for each test that ended, `{name, outcome, reason?, file, ms}`, and for each suite that
 * was skipped whole; `ms` of those that are in no suite, and of suites as a whole: `{file, ms}`. Plain JavaScript, as Node loads reporters by their path.
 */
// biome-ignore lint/style/noDefaultExport: Node takes a reporter from the default export.
export default async function* results(events) {
  for await (const { type, data } of events) {
    if (type !== "test:pass" && type !== "test:fail") continue;
    const time = data.nesting === 0 ? { ms: data.details.duration_ms } : {};
    if (data.details.type === "suite" && data.skip === undefined) {
      yield `${JSON.stringify({ file: data.file, ...time })}\n`;
      continue;
    }
    if (type === "test:fail") yield line(data, time, "failed", data.details.error?.message);
    else if (data.skip !== undefined) yield line(data, time, "skipped", data.skip === true ? undefined : data.skip);
    else yield line(data, time, "passed");
  }
}

function line({ name, file }, time, outcome, reason) {
  return `${JSON.stringify({ name, outcome, ...(reason && { reason: String(reason) }), file, ...time })}\n`;
}
