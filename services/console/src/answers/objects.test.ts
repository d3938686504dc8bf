/** Objects of the configuration: read by pages of config-controller, written and deleted by its API. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { RequestRefused } from "../errors.ts";
import { requestOf, servicesWith } from "../upstream/answers.fixture.ts";
import type { Api } from "../upstream/api.ts";
import { objectHandlers } from "./objects.ts";

/** Answers by `METHOD PATH` without the query; an error is thrown. */
function apiWith(answers: Readonly<Record<string, unknown>>) {
  const calls: (readonly [call: string, body: unknown])[] = [];
  const api: Api = {
    call: async <T>(token: string, method: string, path: string, body?: unknown) => {
      calls.push([`${token} ${method} ${path}`, body]);
      const found = answers[`${method} ${path.split("?")[0]}`] ?? new RequestRefused("not-found", "none");
      if (found instanceof Error) throw found;
      return found as T;
    },
  };
  return { api, calls };
}

const params = { kind: "VirtualService", namespace: "shop", name: "web" };
const handlersOf = (pages: Readonly<Record<string, unknown>>, answers: Readonly<Record<string, unknown>> = {}) => {
  const { services, asked } = servicesWith(pages);
  const { api, calls } = apiWith(answers);
  return { handlers: objectHandlers(services, api), asked, calls };
};

describe("lists of objects", () => {
  it("pass the caller's query on", async () => {
    const page = { rows: [], total: 0 };
    const { handlers, asked } = handlersOf({
      "config-controller /debug/object_rows": page,
      "config-controller /debug/generations": page,
    });
    const path = "GET /api/v1/objects/{kind}/{namespace}/{name}" as const;
    assert.deepEqual(await handlers["GET /api/v1/objects"](requestOf("state=live")), { ...page, away: [] });
    await handlers[`${path}/history`](requestOf("", { params: { ...params, namespace: "-" } }));
    assert.deepEqual(asked, [
      "config-controller /debug/object_rows?state=live by T",
      "config-controller /debug/generations?limit=20&object=VirtualService%2F%2Fweb by T",
    ]);
  });
});

describe("one object", () => {
  const row = { object: "VirtualService/shop/web", state: "live" };
  const detail = {
    ...{ row, manifest: { kind: "VirtualService" }, source: "api" },
    status: {
      ...{ problems: [{ field: "a", reason: "b" }], warnings: [{ field: "c", reason: "d" }] },
      inForce: {
        distribution: {
          behind: ["p.shop"],
          isPrecise: false,
          refusals: [{ proxy: "p.shop", message: "bad", atMs: 0, more: 1 }],
        },
      },
    },
    conditions: [{ type: "Accepted", status: "True", reason: "Ok", message: "fine", more: 1 }, {}],
  };
  const ask = async (answer: unknown, of: Readonly<Record<string, string>> = params) => {
    const { handlers, asked } = handlersOf({ "config-controller /debug/object": answer });
    const found = await handlers["GET /api/v1/objects/{kind}/{namespace}/{name}"](requestOf("", { params: of }));
    return { found, asked };
  };

  it("has its status, its manifest as YAML, and who rejects it", async () => {
    const { found, asked } = await ask(detail);
    assert.deepEqual(found, {
      ...{ ...row, manifest: "kind: VirtualService\n", behind: ["p.shop"], isPrecise: false },
      ...{ isEditable: true, problems: detail.status.problems, warnings: detail.status.warnings },
      conditions: [
        { type: "Accepted", status: "True", reason: "Ok", message: "fine" },
        { type: "", status: "", reason: "", message: "" },
      ],
      rejections: [{ proxy: "p.shop", message: "bad", at: "1970-01-01T00:00:00.000Z" }],
    });
    assert.match(asked[0] ?? "", /^config-controller \/debug\/object\?object=VirtualService%2F/);
  });

  it("that is not in force, and not shown, has the reason alone", async () => {
    const { found } = await ask({
      row,
      status: { problems: [], warnings: [] },
      conditions: [],
      withheld: "holds a key",
    });
    assert.deepEqual(found, {
      ...{
        ...row,
        withheld: "holds a key",
        isEditable: false,
        problems: [],
        warnings: [],
        behind: [],
        isPrecise: true,
      },
      ...{ conditions: [], rejections: [] },
    });
  });

  it("of the mesh's documents stands alone", async () => {
    const { asked } = await ask(detail, { kind: "MeshConfig", namespace: "-", name: "-" });
    assert.deepEqual(asked, ["config-controller /debug/object?object=MeshConfig by T"]);
  });
});

describe("kinds", () => {
  it("are those that people write, each with its schema", async () => {
    const { handlers } = handlersOf({});
    const { kinds } = await handlers["GET /api/v1/kinds"](requestOf());
    assert.deepEqual(
      kinds.find(({ kind }) => kind === "VirtualService"),
      { kind: "VirtualService", name: "VirtualService", apiVersion: "networking.istio.io/v1", isNamespaced: true },
    );
    const names = kinds.map(({ name }) => name);
    assert.deepEqual(
      ["GatewayClass", "HTTPRoute", "Pod", "Secret"].map((name) => names.includes(name)),
      [true, true, false, false],
    );
    const schemaOf = handlers["GET /api/v1/kinds/{name}/schema"];
    const schema = await schemaOf(requestOf("", { params: { name: "VirtualService" } }));
    assert.deepEqual([schema.kind, schema.apiVersion], ["VirtualService", "networking.istio.io/v1"]);
    for (const name of ["Pod", "Nothing"])
      assert.throws(() => schemaOf(requestOf("", { params: { name } })), {
        code: "not-found",
        message: `there is no schema of ${name}`,
      });
  });
});

const yaml = `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: { name: web }
spec: { hosts: [new] }
`;
const place = "/apis/networking.istio.io/v1/namespaces/shop/virtualservices/web";
const object = (hosts: string, more: object = {}) => ({
  ...{ apiVersion: "networking.istio.io/v1", kind: "VirtualService", status: { a: 1 } },
  metadata: { name: "web", namespace: "shop", resourceVersion: "1", generation: 1, uid: "u", ...more },
  spec: { hosts: [hosts] },
});

describe("applying", () => {
  const applied = {
    items: [{ result: "changed", warnings: ["odd"], object: object("new", { resourceVersion: "2" }) }],
    ignored: [],
  };
  const apply = async (body: unknown, answers: Readonly<Record<string, unknown>>) => {
    const { handlers, calls } = handlersOf({}, answers);
    return { calls, answer: await handlers["POST /api/v1/objects/apply"](requestOf("", { body })) };
  };

  it("shows what changes, without what the store counts", async () => {
    const { answer, calls } = await apply(
      { yaml, namespace: "shop", dryRun: true },
      {
        [`GET ${place}`]: object("old"),
        "POST /flotilla/v1/apply": { ...applied, ignored: [{ kind: "Pod", count: 2, more: 1 }] },
      },
    );
    assert.deepEqual(answer, {
      ...{ dryRun: true, ignored: [{ kind: "Pod", count: 2 }] },
      items: [
        {
          ...{ object: "VirtualService/shop/web", result: "changed", warnings: ["odd"] },
          differences: [{ path: "spec.hosts[0]", before: "old", after: "new" }],
        },
      ],
    });
    assert.deepEqual(
      calls.map(([call]) => call),
      [
        `T GET ${place}`,
        "T POST /flotilla/v1/apply?fieldManager=flotilla-console&namespace=shop&force=true&dryRun=All",
      ],
    );
    assert.deepEqual(calls[1]?.[1], {
      ...{ apiVersion: "v1", kind: "List" },
      items: [
        {
          apiVersion: "networking.istio.io/v1",
          kind: "VirtualService",
          metadata: { name: "web" },
          spec: { hosts: ["new"] },
        },
      ],
    });
  });

  it("of a new object shows all of it, in the default namespace where none is given", async () => {
    const { answer, calls } = await apply({ yaml, dryRun: false }, { "POST /flotilla/v1/apply": applied });
    assert.deepEqual(
      answer.items[0]?.differences.map(({ path, before }) => [path, before]),
      [
        ["apiVersion", undefined],
        ["kind", undefined],
        ["spec", undefined],
        ["metadata", undefined],
      ],
    );
    assert.deepEqual(
      calls.map(([call]) => call),
      [
        "T GET /apis/networking.istio.io/v1/namespaces/default/virtualservices/web",
        "T POST /flotilla/v1/apply?fieldManager=flotilla-console&namespace=default&force=true",
      ],
    );
  });

  const paths: readonly (readonly [text: string, path: string | undefined])[] = [
    ["{apiVersion: v1, kind: Service, metadata: {name: a b}}", "/api/v1/namespaces/default/services/a%20b"],
    ["{apiVersion: v1, kind: Service, metadata: {name: a, namespace: x}}", "/api/v1/namespaces/x/services/a"],
    [
      "{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: a}}",
      "/apis/gateway.networking.k8s.io/v1/gatewayclasses/a",
    ],
    ["{apiVersion: v1, kind: Nothing, metadata: {name: a}}", undefined],
    ["{apiVersion: v1, kind: Service, metadata: {}}", undefined],
    ["{apiVersion: v1, kind: Service}", undefined],
    ["{kind: Service, metadata: {name: a}}", undefined],
    ["{apiVersion: v1, metadata: {name: a}}", undefined],
  ];
  for (const [text, path] of paths)
    it(`${text} is looked for at ${path ?? "no place"}`, async () => {
      const { calls } = await apply(
        { yaml: text, dryRun: true },
        { "POST /flotilla/v1/apply": { items: [], ignored: [] } },
      );
      assert.deepEqual(
        calls.slice(0, -1).map(([call]) => call),
        path === undefined ? [] : [`T GET ${path}`],
      );
    });

  for (const [body, code, message] of [
    [undefined, "bad-request", "yaml is no text"],
    [{ yaml: 1, dryRun: true }, "bad-request", "yaml is no text"],
    [{ yaml }, "bad-request", "dryRun is neither true nor false"],
    [{ yaml, dryRun: "true" }, "bad-request", "dryRun is neither true nor false"],
    [{ yaml, dryRun: true, namespace: 1 }, "bad-request", "namespace is no text"],
    [{ yaml: "---\n", dryRun: true }, "bad-request", "there is no object in the text"],
  ] as const)
    it(`${JSON.stringify(body)} is refused: ${message}`, () => assert.rejects(apply(body, {}), { code, message }));

  it("refuses with the lines of the wrong fields", async () => {
    const causes = [
      { item: 0, field: "spec.hosts", message: "is wrong" },
      { field: "", message: "is odd" },
      { item: 7, field: "spec", message: "x" },
    ];
    await assert.rejects(
      apply({ yaml, dryRun: true }, { "POST /flotilla/v1/apply": new RequestRefused("invalid", "wrong", causes) }),
      (error) => {
        assert.ok(error instanceof RequestRefused);
        assert.deepEqual([error.code, error.message], ["invalid", "wrong"]);
        assert.deepEqual(error.causes, [{ ...causes[0], line: 4 }, { ...causes[1], line: 1 }, causes[2]]);
        return true;
      },
    );
  });

  it("passes other refusals on as they are", async () => {
    const refusal = new RequestRefused("forbidden", "not yours");
    await assert.rejects(apply({ yaml, dryRun: true }, { "POST /flotilla/v1/apply": refusal }), refusal);
    const away = new RequestRefused("away", "gone");
    await assert.rejects(
      apply(
        { yaml, dryRun: true },
        { "GET /apis/networking.istio.io/v1/namespaces/default/virtualservices/web": away },
      ),
      away,
    );
  });
});

describe("deleting", () => {
  const remove = async (answer: unknown, of: Readonly<Record<string, string>> = params) => {
    const { handlers, calls } = handlersOf({}, { "POST /flotilla/v1/delete": answer });
    const request = requestOf("", { params: of });
    return { calls, answer: await handlers["DELETE /api/v1/objects/{kind}/{namespace}/{name}"](request) };
  };

  for (const [name, item, expected] of [
    ["is gone", { result: "deleted" }, { result: "deleted" }],
    [
      "another source still has",
      { result: "deleted", inForce: { source: "kubernetes", location: "east" } },
      { result: "deleted", hiddenBy: "kubernetes east" },
    ],
    [
      "another source has somewhere",
      { result: "unchanged", inForce: { source: "kubernetes" } },
      { result: "unchanged", hiddenBy: "kubernetes" },
    ],
  ] as const)
    it(`gives an object that ${name}`, async () => {
      const { answer, calls } = await remove({ items: [item] });
      assert.deepEqual(answer, expected);
      const metadata = { name: "web", namespace: "shop" };
      const items = [{ apiVersion: "networking.istio.io/v1", kind: "VirtualService", metadata }];
      assert.deepEqual(calls, [
        ["T POST /flotilla/v1/delete?namespace=default", { apiVersion: "v1", kind: "List", items }],
      ]);
    });

  it("names no namespace of an object that has none", async () => {
    const { calls } = await remove(
      { items: [{ result: "deleted" }] },
      { kind: "GatewayClass", namespace: "-", name: "a" },
    );
    const items = [{ apiVersion: "gateway.networking.k8s.io/v1", kind: "GatewayClass", metadata: { name: "a" } }];
    assert.deepEqual(calls[0]?.[1], { apiVersion: "v1", kind: "List", items });
  });

  it("is refused for what is no kind, and where the API names nothing", async () => {
    await assert.rejects(remove({ items: [] }, { ...params, kind: "Nothing" }), {
      code: "not-found",
      message: "Nothing is no kind of configuration",
    });
    await assert.rejects(remove({ items: [] }), { code: "upstream", message: /names no object/ });
  });
});
