/** Authorization of the API: callers that may read, write, and read Secrets. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Caller, Verdict } from "@flotilla/auth";
import { noopLogger } from "@flotilla/runtime";
import { createAccess } from "./access.ts";
import { ApiError } from "./api-error.ts";

interface Request {
  readonly write?: boolean;
  readonly secrets?: boolean;
}

const caller: Caller = { metadata: new Map(), remoteAddress: "10.0.0.1:4" };
const requests: Readonly<Record<string, Request>> = {
  read: {},
  "read Secrets": { secrets: true },
  write: { write: true },
  "write Secrets": { write: true, secrets: true },
};

const of = (namespace: string, serviceAccount: string): Verdict => ({
  ...{ authenticated: true, authenticator: "token", identities: [] },
  kubernetes: { namespace, serviceAccount },
});

const callers: readonly {
  readonly name: string;
  readonly verdict: Verdict;
  readonly may: readonly string[];
  readonly status?: number;
}[] = [
  { name: "a writer", verdict: of("ci", "deployer"), may: ["read", "read Secrets", "write", "write Secrets"] },
  { name: "a reader", verdict: of("ops", "viewer"), may: ["read"] },
  { name: "a writer's name in a reader's namespace", verdict: of("ops", "deployer"), may: [] },
  { name: "another account", verdict: of("shop", "web"), may: [] },
  {
    name: "an identity without an account",
    verdict: { authenticated: true, authenticator: "mtls", identities: ["a"] },
    may: [],
  },
  { name: "nobody", verdict: { authenticated: false, reason: "no token" }, may: [], status: 401 },
];

describe("access to the API", () => {
  for (const { name, verdict, may, status = 403 } of callers)
    for (const [request, { write = false, secrets = false }] of Object.entries(requests)) {
      const isAllowed = may.includes(request);
      it(`${name} ${isAllowed ? "may" : "may not"} ${request}`, async () => {
        const access = createAccess({
          ...{ authenticator: { name: "test", authenticate: () => Promise.resolve(verdict) }, log: noopLogger },
          ...{ writers: ["ci/deployer"], readers: ["ops/viewer"] },
        });
        const asked = access(caller, { write, secrets });
        if (isAllowed) assert.match(await asked, /^(ci\/deployer|ops\/viewer)$/);
        else
          await assert.rejects(asked, (error) => {
            assert.ok(error instanceof ApiError);
            assert.equal(error.status, status);
            const account = verdict.authenticated ? verdict.kubernetes : undefined;
            const named = account === undefined ? "the caller" : `${account.namespace}/${account.serviceAccount}`;
            const what = write ? "write" : request;
            if (status === 403) assert.equal(error.message, `${named} may not ${what} here`);
            return true;
          });
      });
    }
});
