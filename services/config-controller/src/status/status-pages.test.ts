import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { configKeyText } from "@flotilla/model";
import type { ObjectStatus, ObjectStatuses } from "./object-status.ts";
import { isSettled, objectsPage, parseObjectName } from "./status-pages.ts";

const distribution = { live: 2, concerned: 2, refusals: [], isPrecise: true, behind: [], replicas: 1 };
const status = (object: string, more: Partial<ObjectStatus> = {}, reach: object = {}): ObjectStatus => ({
  ...{ object, state: "accepted", problems: [], warnings: [] },
  inForce: { generation: 1, by: "c", writer: "c", distribution: { ...distribution, ...reach } },
  ...more,
});

describe("an object's name", () => {
  for (const [text, key] of [
    ["VirtualService/reviews.shop", "VirtualService/shop/reviews"],
    ["vs/reviews.v1.shop", "VirtualService/shop/reviews.v1"],
    ["virtualservices/shop/reviews", "VirtualService/shop/reviews"],
    ["Namespace/shop", "Namespace//shop"],
    ["gw/gate.shop", "Gateway/shop/gate"],
    ["KubernetesGateway/gate.shop", "KubernetesGateway/shop/gate"],
    ["Namespace//shop", "Namespace//shop"],
    ["MeshConfig//mesh", "MeshConfig//mesh"],
    ["MeshConfig/mesh", "MeshConfig//mesh"],
  ] as const)
    it(`${text} is ${key}`, () => assert.equal(configKeyText(parseObjectName(text)), key));

  it("of the mesh's documents stands alone, in any case", () => {
    assert.deepEqual(
      [parseObjectName("meshconfig").kind, parseObjectName("MeshNetworks").kind],
      ["MeshConfig", "MeshNetworks"],
    );
  });

  for (const [text, reason] of [
    ["Thing/a.b", /"Thing" in "Thing\/a\.b" is no kind of configuration/],
    ["VirtualServce/a.b", /no kind of configuration: is VirtualService meant\?/],
    ["reviews", /"reviews" is not KIND\/NAME\.NAMESPACE, such as VirtualService\/reviews\.shop/],
    ["vs", /"vs" is not KIND\/NAME\.NAMESPACE/],
    ["vs/a/b/c", /is not KIND\/NAME\.NAMESPACE/],
    ["vs/a", /"vs\/a" names no namespace: VirtualService\/a\.NAMESPACE/],
    ["vs/.shop", /names no namespace/],
  ] as const)
    it(`${text} is refused`, () => assert.throws(() => parseObjectName(text), reason));
});

describe("an object is settled", () => {
  for (const [name, one, expected] of [
    ["when it is live on all", status("a"), true],
    ["not when it is refused", status("a", { state: "refused" }), false],
    ["not with a warning", status("a", { warnings: [{ field: "f", reason: "r" }] }), false],
    ["not when some wait", status("a", {}, { live: 1 }), false],
    ["not when a proxy refuses it", status("a", {}, { refusals: [{}] }), false],
  ] as const)
    it(name, () => assert.equal(isSettled(one), expected));

  it("not when it is not in force", () => {
    const { inForce: _, ...refused } = status("a");
    assert.equal(isSettled(refused), false);
  });
});

describe("the page of objects", () => {
  const all = [status("VirtualService/shop/a"), status("VirtualService/bank/b", { state: "refused" })];
  const statuses = {
    keys: () => [],
    prepare: async () => undefined,
    all: function* (isWanted: (object: string) => boolean) {
      yield* all.filter(({ object }) => isWanted(object));
    },
    of: ({ name }: { readonly name: string }) => all.find(({ object }) => object.endsWith(`/${name}`)),
  } as unknown as ObjectStatuses;
  const ask = async (query: string) => objectsPage(statuses, () => 7)({ query: new URLSearchParams(query) } as never);

  it("shows all, those of a namespace, or those that are open", async () => {
    const shown = async (query: string) => {
      const { json } = (await ask(query)) as {
        readonly json: {
          readonly generation: number;
          readonly total: number;
          readonly objects: readonly ObjectStatus[];
        };
      };
      return [json.generation, json.total, json.objects.map(({ object }) => object)];
    };
    assert.deepEqual(await shown(""), [7, 2, ["VirtualService/shop/a", "VirtualService/bank/b"]]);
    assert.deepEqual(await shown("namespace=shop"), [7, 1, ["VirtualService/shop/a"]]);
    assert.deepEqual(await shown("open=true"), [7, 2, ["VirtualService/bank/b"]]);
    assert.deepEqual(await shown("open=true&namespace=shop"), [7, 1, []]);
  });

  it("shows one, or why it does not", async () => {
    assert.deepEqual(await ask("object=vs/a.shop"), { json: all[0] });
    assert.deepEqual(await ask("object=vs/x.shop"), {
      status: 404,
      json: { error: "there is no VirtualService/shop/x" },
    });
    assert.deepEqual(await ask("object=vs"), { status: 400, json: { error: '"vs" is not KIND/NAME.NAMESPACE' } });
  });

  it("hides no error of another kind", async () => {
    const broken = { prepare: async () => undefined, of: () => assert.fail("broken") } as unknown as ObjectStatuses;
    await assert.rejects(
      async () => objectsPage(broken, () => 1)({ query: new URLSearchParams("object=vs/a.b") } as never),
      /broken/,
    );
  });
});
