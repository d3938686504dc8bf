/** Tables of calls: a mesh, a proxy in it, and what becomes of the calls of its workload. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@flotilla/proto";
import type { ArrivalOptions, CallOptions } from "./caller.ts";
import { aMesh, type ProxyOptions } from "./mesh.ts";

type Asked = readonly [url: string, want: string, options?: CallOptions];
type Arriving = readonly [port: number, want: string, options?: ArrivalOptions];

export interface Case {
  /** A sentence. */
  readonly name: string;
  /** YAML documents beside those that all cases share. */
  readonly config?: string;
  readonly mesh?: JsonObject;
  /** A proxy in `shop` when absent. */
  readonly from?: ProxyOptions;
  readonly calls?: readonly Asked[];
  readonly reaches?: readonly Asked[];
  readonly policy?: readonly Asked[];
  readonly receives?: readonly Arriving[];
  readonly authorizes?: readonly Arriving[];
}

/** One test a case; see `Caller` for what each question is answered by. */
export function runCases(shared: string, cases: readonly Case[]): void {
  for (const { name, config = "", mesh = {}, from = { namespace: "shop" }, ...asked } of cases) {
    test(name, () => {
      const caller = aMesh(`${shared}\n---\n${config}`, mesh).proxy(from);
      for (const [url, want, options] of asked.calls ?? []) assert.equal(caller.calls(url, options), want, url);
      for (const [url, want, options] of asked.reaches ?? []) assert.equal(caller.reaches(url, options), want, url);
      for (const [url, want, options] of asked.policy ?? []) assert.equal(caller.policy(url, options), want, url);
      for (const [port, want, options] of asked.receives ?? [])
        assert.equal(caller.receives(port, options), want, `port ${port} ${JSON.stringify(options)}`);
      for (const [port, want, options] of asked.authorizes ?? [])
        assert.equal(caller.authorizes(port, options), want, `port ${port}`);
    });
  }
}
