/** The environment and the token of a pilot-agent. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import type { PreparedAgent } from "@flotilla/dataplane";
import { until } from "@flotilla/runtime";
import { keepToken, writeEnvironment } from "./agent.ts";
import type { ProxyPlan } from "./proxy-plan.ts";

const directory = mkdtempSync(join(tmpdir(), "flotilla-agent-"));
after(() => rmSync(directory, { recursive: true }));
const plan = (more: Partial<ProxyPlan>): ProxyPlan => ({ ...({ directory } as ProxyPlan), ...more });

describe("the environment of a pilot-agent", () => {
  it("is a file for its owner that a shell reads as it is", () => {
    const env = { POD_NAME: "web", PROXY_CONFIG: `{"a": "it's", "b": "$HOME \\"x\\""}` };
    const file = writeEnvironment(plan({}), { ...({} as PreparedAgent), env });
    assert.equal(statSync(file).mode & 0o777, 0o600);
    const shown = `. "$0" && printf '%s\\n%s' "$POD_NAME" "$PROXY_CONFIG"`;
    assert.equal(execFileSync("sh", ["-c", shown, file], { encoding: "utf8" }), `web\n${env.PROXY_CONFIG}`);
  });
});

describe("the token of a pilot-agent", () => {
  it("is replaced in the middle of its life, until the end", async () => {
    const file = join(directory, "token");
    const stop = new AbortController();
    let tokens = 0;
    const keeping = keepToken(plan({ token: async () => `token-${++tokens}`, tokenTtlMs: 2 }), file, stop.signal);
    await until(() => tokens > 2, { withinMs: 30_000, what: "three tokens" });
    stop.abort();
    await keeping;
    assert.equal(readFileSync(file, "utf8"), `token-${tokens}`);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.equal(existsSync(`${file}.new`), false);
  });

  it("is not replaced any more when it is stopped meanwhile", async () => {
    const stop = new AbortController();
    const token = () => assert.fail("no token is needed");
    const keeping = keepToken(plan({ token, tokenTtlMs: 3_600_000 }), join(directory, "none"), stop.signal);
    stop.abort();
    await keeping;
  });
});
