/** caBundle of webhook configurations, in an API server that keeps objects in memory. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { KubeError } from "@flotilla/kube-api";
import { createMemoryApi, type MemoryApi } from "@flotilla/kube-api/memory";
import { noopLogger, until } from "@flotilla/runtime";
import { CaBundles, type WebhookConfiguration } from "./ca-bundles.ts";

const group = "/apis/admissionregistration.k8s.io/v1";
const injectorPath = `${group}/mutatingwebhookconfigurations/injector`;
const validatorPath = `${group}/validatingwebhookconfigurations/validator`;
const base64 = (text: string) => Buffer.from(text).toString("base64");

let directory = "";
before(async () => {
  directory = await mkdtemp(join(tmpdir(), "ca-bundles-"));
});
after(() => rm(directory, { recursive: true }));

const ownService = { service: { name: "webhook", namespace: "mesh" } };
const withClient = (clientConfig: object, more: object = {}) => ({
  webhooks: [{ name: "one", clientConfig, ...more }],
});

interface Options {
  readonly url?: string;
  readonly isRefused?: () => Promise<boolean>;
  readonly rootFile?: string;
  readonly pollMs?: number;
}

async function writing(memory: MemoryApi, check: (rootFile: string) => Promise<void>, options: Options = {}) {
  const rootFile = options.rootFile ?? join(await mkdtemp(join(directory, "root-")), "root.pem");
  if (options.rootFile === undefined) await writeFile(rootFile, "first root");
  const stop = new AbortController();
  const running = new CaBundles({
    ...{ api: memory.api, service: ownService.service, rootFile, url: options.url },
    isRefused: options.isRefused ?? (async () => false),
    ...{ pollMs: options.pollMs ?? 5, log: noopLogger, random: () => 0 },
  }).run(stop.signal);
  try {
    await check(rootFile);
  } finally {
    stop.abort();
    await running;
  }
}

const first = (memory: MemoryApi, path: string) => memory.read<WebhookConfiguration>(path)?.webhooks?.[0];
const eventually = (what: string, holds: () => boolean) => until(holds, { withinMs: 20_000, everyMs: 2, what });

describe("webhook configurations", () => {
  test("that lead to this webhook get its root, and another one when it changes", async () => {
    const memory = createMemoryApi({ [injectorPath]: withClient(ownService, { sideEffects: "None" }) });
    await writing(memory, async (rootFile) => {
      const caBundle = () => first(memory, injectorPath)?.clientConfig.caBundle;
      await eventually("the root", () => caBundle() === base64("first root"));
      await writeFile(rootFile, "second root");
      await eventually("the other root", () => caBundle() === base64("second root"));
      memory.put(injectorPath, withClient({ ...ownService, caBundle: base64("edited") }, { sideEffects: "None" }));
      await eventually("the root again", () => caBundle() === base64("second root"));
    });
    assert.deepEqual(first(memory, injectorPath), {
      ...{ name: "one", sideEffects: "None" },
      clientConfig: { ...ownService, caBundle: base64("second root") },
    });
  });

  const cases = [
    { name: "of this Service", clientConfig: ownService, isWritten: true },
    { name: "of another Service", clientConfig: { service: { name: "other", namespace: "mesh" } }, isWritten: false },
    {
      name: "of the same Service in another namespace",
      clientConfig: { service: { name: "webhook", namespace: "other" } },
      isWritten: false,
    },
    { name: "of this address", clientConfig: { url: "https://192.0.2.1:15017/inject" }, isWritten: true },
    { name: "of another address", clientConfig: { url: "https://192.0.2.2:15017/inject" }, isWritten: false },
    {
      name: "that have the root already",
      clientConfig: { ...ownService, caBundle: base64("first root") },
      isWritten: false,
    },
  ];
  test("are chosen by where they lead", async (t) => {
    const pathOf = (index: number) => `${group}/mutatingwebhookconfigurations/case-${index}`;
    const stored = cases.map(({ clientConfig }, index) => [pathOf(index), withClient(clientConfig)]);
    const memory = createMemoryApi({ ...Object.fromEntries(stored), [`${pathOf(0)}-last`]: withClient(ownService) });
    const check = () => eventually("the last one", () => memory.writes.some(({ path }) => path.endsWith("-last")));
    await writing(memory, async () => void (await check()), { url: "https://192.0.2.1:15017" });
    for (const [index, { name, isWritten }] of cases.entries())
      await t.test(`${isWritten ? "written" : "left alone"}: one ${name}`, () => {
        assert.equal(memory.writes.filter(({ path }) => path === pathOf(index)).length, isWritten ? 1 : 0);
      });
  });

  test("of validation refuse objects while no replica answers once a probe was refused", async () => {
    const open = withClient(ownService, { failurePolicy: "Ignore" });
    const memory = createMemoryApi({ [validatorPath]: open, [injectorPath]: open });
    let works = false;
    let probes = 0;
    const isRefused = async () => {
      probes += 1;
      return works;
    };
    const check = async () => {
      await eventually("a probe", () => probes > 0);
      assert.equal(first(memory, validatorPath)?.failurePolicy, "Ignore");
      works = true;
      memory.put(`${group}/validatingwebhookconfigurations/unrelated`, {});
      await eventually("the policy", () => first(memory, validatorPath)?.failurePolicy === "Fail");
    };
    await writing(memory, check, { isRefused });
    assert.equal(first(memory, injectorPath)?.failurePolicy, "Ignore", "injection goes on without an answer");
    assert.equal(first(memory, validatorPath)?.clientConfig.caBundle, base64("first root"));
  });

  test("of kinds that other controllers share stay open", async () => {
    const rules = [{ apiGroups: ["networking.k8s.io"] }];
    const own = {
      name: "own",
      clientConfig: ownService,
      failurePolicy: "Ignore",
      rules: [{ apiGroups: ["security.istio.io"] }],
    };
    const shared = { ...own, name: "shared", rules };
    const memory = createMemoryApi({ [validatorPath]: { webhooks: [own, shared] } });
    const policies = () => memory.read<WebhookConfiguration>(validatorPath)?.webhooks?.map((one) => one.failurePolicy);
    const check = async () => void (await eventually("the policy", () => String(policies()) === "Fail,Ignore"));
    await writing(memory, check, { isRefused: async () => true });
    assert.deepEqual(policies(), ["Fail", "Ignore"]);
  });

  test("are not written while the root cannot be read", async () => {
    const memory = createMemoryApi({ [injectorPath]: withClient(ownService) });
    const rootFile = join(directory, "later.pem");
    const check = async () => {
      await writeFile(rootFile, "late root");
      await eventually("the root", () => memory.writes.length > 0);
    };
    await writing(memory, check, { rootFile });
    assert.equal(first(memory, injectorPath)?.clientConfig.caBundle, base64("late root"));
  });

  test("keep a new root of another replica that saw it first", async () => {
    const memory = createMemoryApi({ [injectorPath]: withClient(ownService) });
    const check = async (rootFile: string) => {
      const caBundle = () => first(memory, injectorPath)?.clientConfig.caBundle;
      await eventually("the root", () => caBundle() === base64("first root"));
      await writeFile(rootFile, "second root");
      memory.put(injectorPath, withClient({ ...ownService, caBundle: base64("second root") }));
      memory.put(`${group}/mutatingwebhookconfigurations/later`, withClient(ownService));
      await eventually("the other one", () => memory.writes.some(({ path }) => path.endsWith("/later")));
      assert.equal(caBundle(), base64("second root"));
    };
    // Its next look at the file comes after the test.
    await writing(memory, check, { pollMs: 600_000 });
    assert.equal(memory.writes.filter(({ path }) => path === injectorPath).length, 1);
  });

  test("that somebody else changed at the same time are written after that", async () => {
    const memory = createMemoryApi({ [injectorPath]: withClient(ownService) });
    let isFirst = true;
    memory.refusal = ({ verb }) => {
      if (verb !== "replace" || !isFirst) return undefined;
      isFirst = false;
      memory.put(injectorPath, withClient(ownService, { sideEffects: "None" }));
      return new KubeError("KUBE_CONFLICT", "changed", { status: 409 });
    };
    await writing(memory, async () => void (await eventually("a write", () => memory.writes.length > 0)));
    assert.equal((first(memory, injectorPath) as { readonly sideEffects?: string })?.sideEffects, "None");
  });
});
