/** A stream's memory of its messages: acknowledgements by nonce, and records that stay the same while nothing changes. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { newStream, type StreamState, type TypeState } from "@flotilla/xds";
import { Receipts, SharedRecords } from "./progress.ts";
import type { Receipt } from "./stream-record.ts";

const [cds, lds] = ["cds", "lds"] as const;
const now = { atMs: 5_500, position: 9 };
const receipt = (nonce: string, position = 1): Receipt => {
  return { nonce, version: `v${nonce}`, atMs: 1, position, applied: undefined, resources: 1, bytes: 1 };
};
const typeState = (version?: string): TypeState =>
  ({ subscription: { wildcard: true }, sent: version === undefined ? undefined : { version } }) as TypeState;
const stateOf = (types: Readonly<Record<string, TypeState>>): StreamState => ({
  ...newStream,
  types: new Map(Object.entries(types)),
});

describe("receipts of a stream", () => {
  it("begin with nothing", () => {
    const receipts = new Receipts(new SharedRecords());
    assert.deepEqual([receipts.lastSerial(cds), receipts.lastPosition(cds)], [0, 0]);
    assert.equal(receipts.acknowledged(cds, "1"), undefined);
    assert.equal(receipts.acknowledgedVersion(cds, stateOf({})), undefined);
  });

  it("are acknowledged by the nonce that was sent last, by type", () => {
    const receipts = new Receipts(new SharedRecords());
    const state = stateOf({ [cds]: typeState("shown"), [lds]: typeState("shown") });
    const [first, second] = [receipt("1", 3), receipt("2", 4)];
    receipts.sent(cds, 1, first);
    assert.equal(receipts.acknowledgedVersion(cds, state), undefined, "sent is not acknowledged");
    assert.equal(receipts.acknowledgedVersion(lds, state), "shown");
    assert.equal(receipts.acknowledged(cds, "1"), first);
    receipts.sent(cds, 2, second);
    assert.deepEqual([receipts.lastSerial(cds), receipts.lastPosition(cds)], [2, 4]);
    assert.equal(receipts.acknowledged(cds, "1"), undefined, "of the message before");
    assert.equal(receipts.acknowledged(lds, "2"), undefined);
    assert.equal(receipts.acknowledgedVersion(cds, state), "v1");
    assert.equal(receipts.acknowledged(cds, "2"), second);
    assert.equal(receipts.acknowledgedVersion(cds, state), "v2");
    receipts.forget(cds);
    assert.deepEqual([receipts.lastSerial(cds), receipts.acknowledged(cds, "2")], [0, undefined]);
  });
});

describe("records of a stream", () => {
  it("show what was sent and acknowledged, and what a client came with as acknowledged now", () => {
    const receipts = new Receipts(new SharedRecords());
    const [one, two] = [receipt("1"), receipt("2")];
    receipts.sent(cds, 1, one);
    receipts.acknowledged(cds, "1");
    receipts.sent(cds, 2, two);
    const state = stateOf({ [cds]: typeState(), [lds]: typeState("shown"), rds: typeState() });
    const records = receipts.view(state, now);
    assert.deepEqual([records.get(cds)?.sent, records.get(cds)?.acknowledged], [two, one]);
    const claimed = records.get(lds);
    assert.equal(claimed?.sent, undefined);
    assert.deepEqual([claimed?.acknowledged?.version, claimed?.acknowledged?.position], ["shown", 9]);
    assert.deepEqual([records.get("rds")?.sent, records.get("rds")?.acknowledged], [undefined, undefined]);
    assert.equal(receipts.view(state, { atMs: 99_000, position: 99 }), records, "the same state shows the same");
  });

  it("of types to which nothing happened stay the same objects", () => {
    const receipts = new Receipts(new SharedRecords());
    const [kept, claimed] = [typeState(), typeState("shown")];
    receipts.sent(cds, 1, receipt("1"));
    const before = receipts.view(stateOf({ [cds]: kept, [lds]: claimed, rds: typeState() }), now);
    const later = { atMs: 99_000, position: 99 };
    const after = receipts.view(stateOf({ [cds]: kept, [lds]: claimed, rds: typeState("next") }), later);
    assert.equal(after.get(cds), before.get(cds));
    assert.equal(after.get(lds), before.get(lds), "a claim keeps its time");
    assert.notEqual(after.get("rds"), before.get("rds"));
    const other = receipts.view(stateOf({ [cds]: kept, [lds]: typeState("other") }), later);
    assert.equal(other.get(lds)?.acknowledged?.position, 99);
    receipts.acknowledged(cds, "1");
    const answered = receipts.view(stateOf({ [cds]: kept }), later);
    assert.notEqual(answered.get(cds), before.get(cds));
    receipts.sent(cds, 2, receipt("2"));
    assert.equal(receipts.view(stateOf({ [cds]: kept }), later).get(cds)?.sent?.nonce, "2");
  });

  it("are shared by streams of one state to which the same happened, and by no others", () => {
    const shared = new SharedRecords();
    const state = stateOf({ [cds]: typeState() });
    const message = receipt("1");
    const stream = (sent: Receipt | undefined, isAcknowledged: boolean) => {
      const receipts = new Receipts(shared);
      if (sent !== undefined) receipts.sent(cds, 1, sent);
      if (isAcknowledged) receipts.acknowledged(cds, "1");
      return receipts;
    };
    const [first, same, waiting, another, none] = [
      ...[stream(message, true), stream(message, true), stream(message, false)],
      ...[stream({ ...message }, true), stream(undefined, false)],
    ] as const;
    const resent = receipt("2");
    const otherWaiting = stream(resent, false);
    const records = first.view(state, now);
    assert.equal(same.view(state, now), records);
    assert.equal(waiting.view(state, now).get(cds)?.acknowledged, undefined);
    assert.equal(otherWaiting.view(state, now).get(cds)?.sent, resent);
    assert.equal(first.view(state, now), records, "whatever others of the state show");
    assert.notEqual(another.view(state, now).get(cds)?.sent, records.get(cds)?.sent);
    assert.equal(none.view(state, now).get(cds)?.sent, undefined);
  });

  it("are made anew after a type was forgotten", () => {
    const receipts = new Receipts(new SharedRecords());
    const state = stateOf({ [cds]: typeState("shown") });
    receipts.sent(cds, 1, receipt("1"));
    assert.equal(receipts.view(state, now).get(cds)?.sent?.nonce, "1");
    receipts.forget(cds);
    assert.equal(receipts.view(state, now).get(cds)?.sent, undefined);
  });
});
