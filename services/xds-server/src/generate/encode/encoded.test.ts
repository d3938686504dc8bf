import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { create, decode, encode } from "@flotilla/proto";
import { VirtualHostSchema } from "@flotilla/proto/envoy/config/route/v3/route_components_pb";
import { RouteConfigurationSchema } from "@flotilla/proto/envoy/config/route/v3/route_pb";
import { encodedElement, encodedFields, encodedMessage, identityKey, sameBytes } from "./encoded.ts";

const before = create(VirtualHostSchema, { name: "a", domains: ["a.example"] });
const routes = create(VirtualHostSchema, { routes: [{ name: "default" }] });
const behind = create(VirtualHostSchema, { includeRequestAttemptCount: true });
const whole = create(VirtualHostSchema, {
  name: "a",
  domains: ["a.example"],
  routes: [{ name: "default" }],
  includeRequestAttemptCount: true,
});

test("an element of messages and encoded fields has the bytes and the version of the whole message", () => {
  const joined = encodedElement(2, VirtualHostSchema, [before, encodedFields(VirtualHostSchema, routes), behind]);
  const container = encode(RouteConfigurationSchema, create(RouteConfigurationSchema, { virtualHosts: [whole] }));
  assert.deepEqual(joined.bytes, container);
  assert.equal(joined.version, encodedElement(2, VirtualHostSchema, [whole]).version);
});

test("a decoded message is encoded to the same bytes, so that a change of messages can stand in between", () => {
  const { bytes, version } = encodedMessage(VirtualHostSchema, whole);
  const again = encodedMessage(VirtualHostSchema, decode(VirtualHostSchema, bytes));
  assert.deepEqual(again.bytes, bytes);
  assert.equal(again.version, version);
});

test("the key of inputs has a digest of a long text such as a private key, another one for another text", () => {
  const root = {};
  const keyOf = (key: string) => identityKey({ name: "cert", key, root });
  const [long, other] = ["a".repeat(4_000), `${"a".repeat(3_999)}b`];
  assert.ok(keyOf(long).length < 150);
  assert.equal(keyOf(long).includes("aaaaaaaaaaaaaaaa"), false);
  assert.equal(keyOf(long), keyOf("a".repeat(4_000)));
  assert.notEqual(keyOf(long), keyOf(other));
  assert.equal(keyOf("short").includes("key=string:short\n"), true);
});

test("nothing else that generates resources encodes messages", () => {
  const root = join(import.meta.dirname, "..");
  const files = globSync("**/*.ts", { cwd: root }).filter((file) => !file.endsWith(".test.ts"));
  const encoding = files.filter((file) =>
    /import \{[^}]*\bencode\b[^}]*\} from "@flotilla\/proto"/.test(readFileSync(join(root, file), "utf8")),
  );
  assert.ok(files.length > 100);
  assert.deepEqual(encoding, ["encode/encoded.ts"]);
});

test("bytes are the same where all are equal, and none follow", () => {
  const same = (a: readonly number[], b: readonly number[]) => sameBytes(Uint8Array.from(a), Uint8Array.from(b));
  assert.deepEqual([same([1, 2], [1, 2]), same([], []), same([1, 2], [1, 3])], [true, true, false]);
  assert.deepEqual([same([1, 2], [1]), same([1], [1, 2])], [false, false]);
});
