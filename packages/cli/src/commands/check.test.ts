/** `flotilla check` with a cluster: the rights of the caller or of the services' accounts, asked of an API server of the test. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { type Answer, answerPages } from "../answering-service.fixture.ts";
import { recordRun } from "../recorded-run.fixture.ts";

const directory = mkdtempSync(join(tmpdir(), "flotilla-check-"));
after(() => rmSync(directory, { recursive: true }));

/** Checks a control plane that answers nothing beside its pages, and a cluster that answers with `answer`. */
async function check(answer: Answer) {
  await using api = await answerPages(answer);
  await using ca = await answerPages(({ url }) =>
    url === "/debug/caz"
      ? { body: { signing: null, roots: [] } }
      : { body: { ready: true, version: "1", conditions: [] } },
  );
  const kubeconfig = join(directory, "config");
  const config = {
    ...{ apiVersion: "v1", kind: "Config", "current-context": "test" },
    clusters: [{ name: "test", cluster: { server: api.url } }],
    contexts: [{ name: "test", context: { cluster: "test", user: "me" } }],
    users: [{ name: "me", user: { token: "t" } }],
  };
  writeFileSync(kubeconfig, JSON.stringify(config));
  const run = await recordRun(["check", "-o", "json", "--kubeconfig", kubeconfig, "--url", `ca=${ca.url}`]);
  const results = JSON.parse(run.out) as readonly Readonly<Record<string, string>>[];
  return { code: run.code, rights: results.filter(({ name }) => name?.startsWith("rights")), seen: api.seen };
}

describe("flotilla check with a cluster", () => {
  it("asks for each right of the caller, and ends with 0 where it has all", async () => {
    const { code, rights, seen } = await check(() => ({ status: 201, body: { status: { allowed: true } } }));
    assert.equal(code, 0);
    assert.ok(rights.length > 1 && rights.every(({ state }) => state === "ok"), JSON.stringify(rights));
    assert.deepEqual(
      [...new Set(seen.map(({ method, url }) => `${method} ${url}`))],
      ["POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews"],
    );
  });

  it("ends with 3 where the caller lacks one", async () => {
    const { code, rights } = await check(({ body }) => ({
      ...{ status: 201, body: { status: { allowed: !body.includes('"secrets"') } } },
    }));
    assert.equal(code, 3);
    assert.ok(rights.some(({ state, detail }) => state === "failed" && /secrets/.test(detail ?? "")));
  });

  it("is one failure where the API server does not let the caller ask", async () => {
    const { code, rights } = await check(() => ({
      ...{ status: 403, body: { kind: "Status", code: 403, message: "reviews are forbidden" } },
    }));
    assert.equal(code, 3);
    assert.equal(rights.length, 1);
    assert.match(rights[0]?.["detail"] ?? "", /^the API server cannot be asked: .*forbidden/);
    assert.equal(rights[0]?.["advice"], "ask as a user who may create SubjectAccessReviews");
  });

  it("needs a kubeconfig that is there", async () => {
    const { code, err } = await recordRun([
      "check",
      "--kubeconfig",
      join(directory, "none"),
      "--url",
      "ca=http://127.0.0.1:1",
    ]);
    assert.equal(code, 2);
    assert.match(err, /none/);
  });
});
