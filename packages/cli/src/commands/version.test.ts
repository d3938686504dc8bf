/** `flotilla version --remote`: what each replica runs. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { answerPages } from "../answering-service.fixture.ts";
import { recordRun } from "../recorded-run.fixture.ts";

const away = "http://127.0.0.1:1";
const version = (...urls: readonly string[]) =>
  recordRun(["version", "--remote", ...urls.flatMap((url) => ["--url", url])]);

it("a replica that does not answer is shown as such, and is no failure beside others", async () => {
  await using service = await answerPages(() => ({ body: { version: "1.2.3", node: "24.1.0" } }));
  const { code, out } = await version(`ca=${service.url}`, `webhook=${away}`);
  const [own, ...rows] = out.trim().split("\n");
  assert.equal(code, 0);
  assert.match(own ?? "", /^flotilla \S+ \(node \d+\./);
  assert.deepEqual(
    rows.map((row) => row.split(/ {2,}/)),
    [
      ["ca", "1.2.3", service.url],
      ["webhook", "no answer", away],
    ],
  );
  const json = await recordRun(["version", "--remote", "-o", "json", "--url", `ca=${service.url}`]);
  assert.deepEqual(JSON.parse(json.out).services, [
    { service: "ca", at: service.url, version: "1.2.3", node: "24.1.0" },
  ]);
});

it("no answer at all is the failure of the connection", async () => {
  assert.equal((await version(`ca=${away}`, `webhook=${away}`)).code, 4);
});
