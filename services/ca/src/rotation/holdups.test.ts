import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ProxyTrust } from "@flotilla/auth";
import { appliedText, type Evidence, holdupsOf } from "./holdups.ts";
import { type Holding, Ledger, parseHoldings, shardCount } from "./ledger.ts";
import { idle, type Phase, type RotationState, rotate } from "./rotation-state.ts";

const roots = { old: "old", next: "new", origin: "self-signed" } as const;
const begun = rotate(idle, { id: "r", roots, without: [], nowMs: 0 });
const web = "spiffe://td/ns/shop/sa/web";
const nowMs = 1_000_000;

const holding = (more: Partial<Holding> = {}): Holding => ({
  identity: web,
  place: "pod shop/web-1 u1",
  issuer: "old",
  roots: ["old"],
  issuedMs: nowMs - 10,
  notAfterMs: nowMs + 1000,
  ...more,
});
const proxy = (more: Partial<ProxyTrust> = {}): ProxyTrust => ({
  proxy: "sidecar~10.0.0.1~web-1.shop~shop.svc.cluster.local",
  identities: [web],
  pod: "shop/web-1",
  host: "10.0.0.1",
  ...more,
});
const none: Evidence = {
  holdings: [],
  proxies: [],
  ended: new Set(),
  replicas: [],
  recordedSinceMs: undefined,
  maxTtlMs: 1000,
  nowMs,
};
const replica = (state: RotationState, more: object = {}) => ({
  name: "ca-1",
  seenMs: nowMs,
  applied: appliedText(state),
  root: "old",
  ...more,
});

describe("hold-ups of a rotation", () => {
  it("are in the order of their names, whatever order they were found in", () => {
    const silent = ["c", "a", "b"].map((name) => replica(idle, { name }));
    const names = holdupsOf(begun, { ...none, replicas: silent }).map(({ name }) => name);
    assert.equal(names.length, 3);
    assert.deepEqual(names, names.toSorted());
  });

  const webName = `${web}@pod/shop/web-1/u1`;
  const cases: readonly (readonly [string, Phase, Partial<Evidence>, readonly string[]])[] = [
    ["nobody", "trusting", {}, []],
    ["a holder that was given the old root only", "trusting", { holdings: [holding()] }, [webName]],
    ["not one that was given both", "trusting", { holdings: [holding({ roots: ["new", "old"] })] }, []],
    [
      "not one whose proxy has acknowledged both",
      "trusting",
      { holdings: [holding()], proxies: [proxy({ roots: ["new", "old"] })] },
      [],
    ],
    [
      "one whose proxy has acknowledged something older",
      "trusting",
      { holdings: [holding()], proxies: [proxy({ roots: ["old"] })] },
      [webName],
    ],
    [
      "one for which another pod has acknowledged",
      "trusting",
      { holdings: [holding()], proxies: [proxy({ roots: ["new"], pod: "shop/web-2" })] },
      [webName],
    ],
    [
      "one for which another identity has acknowledged",
      "trusting",
      { holdings: [holding()], proxies: [proxy({ roots: ["new"], identities: ["spiffe://td/ns/a/sa/b"] })] },
      [webName],
    ],
    ["a connected proxy that no certificate is known of", "trusting", { proxies: [proxy()] }, [proxy().proxy]],
    ["not one that proves no identity", "trusting", { proxies: [proxy({ identities: [] })] }, []],
    [
      "a host's proxy, found by its address",
      "trusting",
      { holdings: [holding({ place: "host 10.0.0.1" })], proxies: [proxy({ roots: ["new"] })] },
      [],
    ],
    ["not a pod that has ended", "trusting", { holdings: [holding()], ended: new Set([webName]) }, []],
    [
      "behind an address: the certificate before that of the only proxy there has been replaced",
      "trusting",
      {
        holdings: [
          holding({ place: "host 10.0.0.1", issuedMs: nowMs - 500 }),
          holding({ place: "host 10.0.0.1", roots: ["new", "old"] }),
        ],
        proxies: [proxy()],
      },
      [],
    ],
    [
      "behind an address: of several proxies any may still have the one before",
      "trusting",
      {
        holdings: [
          holding({ place: "host 10.0.0.1", issuedMs: nowMs - 500 }),
          holding({ place: "host 10.0.0.1", roots: ["new", "old"] }),
        ],
        proxies: [proxy(), proxy({ proxy: "web-2.shop" })],
      },
      [`${web}@host/10.0.0.1`],
    ],
    [
      "behind an address without a proxy: certificates count until they end",
      "issuing",
      {
        holdings: [
          holding({ place: "host 10.0.0.1", issuedMs: nowMs - 500 }),
          holding({ place: "host 10.0.0.1", issuer: "new" }),
        ],
      },
      [`${web}@host/10.0.0.1`],
    ],
    [
      "who holds a certificate of the old root",
      "issuing",
      { holdings: [holding({ roots: ["new", "old"] })] },
      [webName],
    ],
    ["not who has one of the new root", "issuing", { holdings: [holding({ issuer: "new" })] }, []],
    ["going back: who holds one of the new root", "reverting", { holdings: [holding({ issuer: "new" })] }, [webName]],
    ["going back: not who has one of the old root", "reverting", { holdings: [holding()] }, []],
    ["certificates from before the ledger", "trusting", { recordedSinceMs: nowMs - 10 }, ["unrecorded"]],
    ["not those that have ended by now", "trusting", { recordedSinceMs: nowMs - 1000 }, []],
    ["a replica of ca that has not followed", "trusting", { replicas: [replica(idle)] }, ["ca-1"]],
    [
      "a replica of ca that is silent",
      "issuing",
      { replicas: [replica({ ...begun, phase: "issuing" }, { seenMs: nowMs - 16_000 })] },
      ["ca-1"],
    ],
    ["not a replica that has", "issuing", { replicas: [replica({ ...begun, phase: "issuing" })] }, []],
  ];
  for (const [name, phase, evidence, names] of cases)
    it(name, () =>
      assert.deepEqual(
        holdupsOf({ ...begun, phase }, { ...none, ...evidence }).map((holdup) => holdup.name),
        names,
      ),
    );

  const reasonOf = (more: Partial<Evidence>) =>
    holdupsOf(begun, {
      ...none,
      holdings: [holding({ issuedMs: nowMs - 1000, notAfterMs: nowMs + 3000 })],
      ...more,
    })[0];

  it("waits for an agent without PCDS until it renews, and reports when that is due", () => {
    assert.equal(
      reasonOf({ proxies: [proxy()] })?.reason,
      "is connected and takes the new root with its next certificate; its renewal is expected at 1970-01-01T00:16:41.000Z",
    );
    const late = [holding({ issuedMs: nowMs - 3000, notAfterMs: nowMs + 1000 })];
    assert.match(reasonOf({ proxies: [proxy()], holdings: late })?.reason ?? "", /renewal is overdue since/);
    assert.match(reasonOf({ proxies: [proxy({ roots: ["old"] })] })?.reason ?? "", /has not taken the new root/);
    assert.match(reasonOf({})?.reason ?? "", /is not connected.*its certificate ends at 1970-01-01T00:16:43.000Z/);
  });

  it("holders are named so that a shell takes the name as it is", () =>
    assert.match(reasonOf({})?.name ?? "", /^[\w:/@.-]+$/));

  it("those that the operator does not wait for are left out", () =>
    assert.deepEqual(holdupsOf({ ...begun, without: [webName] }, { ...none, holdings: [holding()] }), []));

  it("plugged-in material is awaited in its place at the end", () => {
    const state: RotationState = { ...begun, phase: "finishing", roots: { ...roots, origin: "plugged-in" } };
    const [before] = holdupsOf(state, { ...none, replicas: [replica(state)] });
    assert.match(before?.reason ?? "", /ROOT_CA_NEXT_DIR/);
    assert.deepEqual(holdupsOf(state, { ...none, replicas: [replica(state, { root: "new" })] }), []);
  });
});

describe("the ledger", () => {
  const liveOf = (...holdings: readonly Holding[]): readonly Holding[] => {
    const ledger = new Ledger();
    for (const one of holdings) ledger.record(one);
    return ledger.holdings(nowMs);
  };

  it("in a pod a certificate replaces the one before, in any order of their reports", () => {
    const [old, now] = [holding(), holding({ issuer: "new", issuedMs: nowMs })];
    assert.deepEqual(liveOf(old, now), [now]);
    assert.deepEqual(liveOf(now, old), [now]);
  });

  it("behind a host's address there may be several, so a certificate counts until it ends", () => {
    const place = "host 10.0.0.1";
    const [old, now] = [holding({ place }), holding({ place, issuer: "new", issuedMs: nowMs })];
    assert.equal(liveOf(old, now).length, 2);
    const later = holding({ place, notAfterMs: nowMs + 2000 });
    assert.deepEqual(liveOf(old, later, old), [later]);
    assert.deepEqual(liveOf(holding({ place, notAfterMs: nowMs })), []);
  });

  it("a certificate that was renewed by the one before is in the pod of the first", () => {
    const pod = { cluster: "c", namespace: "shop", name: "web-1", uid: "u1" };
    const [first, renewed] = [
      holding({ place: "instance web-1", pod }),
      holding({ place: "instance web-1", issuedMs: nowMs }),
    ];
    for (const order of [
      [first, renewed],
      [renewed, first],
    ])
      assert.deepEqual(liveOf(...order), [{ ...renewed, pod }]);
  });

  it("replicas that report to each other agree, in whatever order", () => {
    const all = Array.from({ length: 300 }, (_, i) =>
      holding({ place: `pod shop/web-${i % 100} u`, issuedMs: nowMs - (i % 7), issuer: i % 2 === 0 ? "old" : "new" }),
    );
    const [a, b] = [new Ledger(), new Ledger()];
    for (const [i, one] of all.entries()) (i % 2 === 0 ? a : b).record(one);
    for (let shard = 0; shard < shardCount; shard++) {
      const [textA, textB] = [a.text(shard, nowMs), b.text(shard, nowMs)];
      a.merge(shard, parseHoldings(textB));
      b.merge(shard, parseHoldings(textA));
    }
    const sorted = (ledger: Ledger) =>
      ledger
        .holdings(nowMs)
        .map((one) => JSON.stringify(one))
        .sort();
    assert.deepEqual(sorted(a), sorted(b));
    assert.equal(a.holdings(nowMs).length, 100);
    assert.equal(new Set(a.takeDirty()).size > 10, true);
    assert.deepEqual(a.takeDirty(), []);
  });
});
