/**
 * Reporter for Node's test runner: one JSON line for each test that ended, `{name, outcome, reason?}`, and for each suite that was
 * skipped whole. Plain JavaScript, as Node loads reporters by their path.
 */
// biome-ignore lint/style/noDefaultExport: Node takes a reporter from the default export.
export default async function* results(events) {
  for await (const { type, data } of events) {
    if (type !== "test:pass" && type !== "test:fail") continue;
    if (data.details.type === "suite" && data.skip === undefined) continue;
    if (type === "test:fail") yield line(data, "failed", data.details.error?.message);
    else if (data.skip !== undefined) yield line(data, "skipped", data.skip === true ? undefined : data.skip);
    else yield line(data, "passed");
  }
}

function line({ name }, outcome, reason) {
  return `${JSON.stringify({ name, outcome, ...(reason && { reason: String(reason) }) })}\n`;
}
