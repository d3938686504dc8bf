/** Requests to the API: what is counted, and what is noted of who wrote. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Logger, noopLogger } from "@flotilla/runtime";
import { ApiError } from "./api-error.ts";
import type { ApiReply, ApiRequest } from "./https-server.ts";
import { observed } from "./observe.ts";

async function ask(method: string, answer: () => ApiReply) {
  const [counted, seconds, noted]: [string[], string[], unknown[]] = [[], [], []];
  const log: Logger = { ...noopLogger, info: (_, fields) => void noted.push(fields) };
  const metrics = {
    requests: {
      add: (value: number, labels: { readonly verb: string | number; readonly code: string | number }) =>
        void counted.push(`${value} ${labels.verb} ${labels.code}`),
    },
    seconds: {
      observe: (value: number, labels: { readonly verb: string | number }) =>
        void seconds.push(`${labels.verb} ${value}`),
    },
  };
  let nowMs = 0;
  const route = async (_: ApiRequest, onCaller: (name: string) => void): Promise<ApiReply> => {
    onCaller("ops/admin");
    return answer();
  };
  const clock = (): number => {
    nowMs += 500;
    return nowMs;
  };
  const asked = observed(route, { metrics, log, nowMs: clock })({ method, path: "/p" } as ApiRequest);
  const outcome = await asked.catch((error: unknown) => error);
  return { outcome, counted, seconds, noted };
}

describe("a request to the API", () => {
  const reply = { status: 201, body: {} };
  const note = (method: string, status: number) => ({ caller: "ops/admin", method, path: "/p", status });
  for (const [method, verb, notes] of [
    ["GET", "GET", []],
    ["HEAD", "HEAD", []],
    ["POST", "POST", [note("POST", 201)]],
    ["BREW", "other", [note("BREW", 201)]],
  ] as const)
    it(`${method} is counted as ${verb}, and noted when it writes`, async () => {
      const { outcome, ...seen } = await ask(method, () => reply);
      assert.equal(outcome, reply);
      assert.deepEqual(seen, { counted: [`1 ${verb} 201`], seconds: [`${verb} 0.5`], noted: notes });
    });

  for (const [error, status] of [
    [new ApiError(409, "Conflict", "taken"), 409],
    [new RangeError("a fault"), 500],
  ] as const)
    it(`that fails by ${error.name} is counted with ${status}, and the error goes on`, async () => {
      const { outcome, counted, noted } = await ask("PUT", () => {
        throw error;
      });
      assert.equal(outcome, error);
      assert.deepEqual([counted, noted], [[`1 PUT ${status}`], [note("PUT", status)]]);
    });

  it("that is a watch is counted as one, without its time", async () => {
    const watch: ApiReply = { lines: async function* () {} };
    const { outcome, counted, seconds } = await ask("GET", () => watch);
    assert.equal(outcome, watch);
    assert.deepEqual([counted, seconds], [["1 WATCH 200"], []]);
  });
});
