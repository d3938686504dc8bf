/** The pages of the HTTPS server: what is asked of whom, and what is refused before anybody is asked. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Logger, noopLogger } from "@flotilla/runtime";
import type { AdmissionAnswer } from "../admission/review.ts";
import type { HttpsReply } from "./https-server.ts";
import { createRouter } from "./router.ts";

const question = JSON.stringify({
  ...{ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview" },
  request: { uid: "u1", namespace: "shop", name: "a" },
});

function setUp({ isReady = true, fails = false } = {}) {
  const [asked, errors, logged]: [string[], number[], unknown[]] = [[], [], []];
  const log: Logger = { ...noopLogger, error: (_, fields) => void logged.push(fields?.["path"]) };
  const answering =
    (name: string) =>
    (_: unknown, path: string): AdmissionAnswer => {
      asked.push(`${name} ${path}`);
      if (fails) throw new RangeError("a fault");
      return { allowed: true };
    };
  const route = createRouter({
    ...{ inject: answering("inject"), validate: answering("validate"), log },
    ...{ isReady: () => isReady, onHttpError: (status: number) => void errors.push(status) },
  });
  const ask = (path: string, body = question, contentType = "application/json"): Promise<HttpsReply> =>
    route({ method: "POST", path, body: Buffer.from(body), contentType } as Parameters<typeof route>[0]);
  return { ask, asked, errors, logged };
}
const responseOf = ({ text }: HttpsReply) =>
  (JSON.parse(text) as { readonly response: { uid: string; allowed: boolean; status?: { message: string } } }).response;

describe("the pages of the webhook", () => {
  for (const [path, handler] of [
    ["/inject", "inject"],
    ["/inject/cluster/east", "inject"],
    ["/validate", "validate"],
    ["/validate/x", "validate"],
  ] as const)
    it(`${path} is answered by ${handler}`, async () => {
      const { ask, asked, errors } = setUp();
      const reply = await ask(path);
      assert.deepEqual([reply.status, responseOf(reply).uid, responseOf(reply).allowed], [200, "u1", true]);
      assert.deepEqual([asked, errors], [[`${handler} ${path}`], []]);
    });

  const refused: readonly (readonly [string, number, string?, string?])[] = [
    ["/", 404],
    ["/injects", 404],
    ["/validated", 404],
    ["/inject", 400, ""],
    ["/inject", 415, question, "text/plain"],
    ["/inject", 415, question, ""],
  ];
  for (const [path, status, body, contentType] of refused)
    it(`${path} with ${JSON.stringify([body?.slice(0, 9), contentType])} is refused with ${status}, which counts`, async () => {
      const { ask, asked, errors } = setUp();
      assert.equal((await ask(path, body, contentType)).status, status);
      assert.deepEqual([asked, errors], [[], [status]]);
    });

  it("a content type may have parameters, in any case", async () => {
    const { status } = await setUp().ask("/inject", question, " Application/JSON ; charset=utf-8");
    assert.equal(status, 200);
  });

  for (const isReady of [true, false])
    it(`/ready is answered as it is: ${isReady}`, async () => {
      const { ask, errors } = setUp({ isReady });
      const status = isReady ? 200 : 503;
      assert.deepEqual([(await ask("/ready", "")).status, errors], [status, isReady ? [] : [503]]);
    });

  it("a malformed question is refused in an answer", async () => {
    const { ask, asked } = setUp();
    const reply = await ask("/validate", "{}");
    assert.deepEqual([reply.status, responseOf(reply).allowed, asked], [200, false, []]);
    assert.match(responseOf(reply).status?.message ?? "", /kind is/);
  });

  it("a fault of a handler refuses the object with its reason, and is logged", async () => {
    const { ask, logged, errors } = setUp({ fails: true });
    const { allowed, status } = responseOf(await ask("/inject"));
    assert.deepEqual([allowed, status?.message], [false, "internal error: a fault"]);
    assert.deepEqual([logged, errors], [["/inject"], []]);
  });
});
