/** The API for meshes without Kubernetes: its store on the bus, and its server once there is a certificate. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { anyTrustDomain, localIssuerRule, pageAccess, parseJwtRule, peerIdentity } from "@flotilla/auth";
import { accountName, type OwnCertificate } from "@flotilla/auth/serving";
import type { Bus, Seal } from "@flotilla/bus";
import type { ConfigStore } from "@flotilla/model";
import { patchValueProblem } from "@flotilla/proto/patch-values";
import { type FailingWork, type Health, keepRunning, keepTrying, type Logger, orAborted } from "@flotilla/runtime";
import { createValidator } from "@flotilla/validation";
import { ValidationThread } from "@flotilla/validation/aside";
import manifest from "../../package.json" with { type: "json" };
import type { AggregateStore } from "../aggregate/aggregate-store.ts";
import { compareStored } from "../store/durable/compare-stored.ts";
import { type DurableStore, openDurableStore } from "../store/durable/durable-store.ts";
import { ObjectJournal } from "../store/durable/object-journal.ts";
import { layeredStore } from "../store/layered-store.ts";
import { readOnlyStore } from "../store/source-store.ts";
import { createAccess } from "./access.ts";
import type { ApiSettings } from "./api-settings.ts";
import { followCertificate, type KeyPair, serviceAccount } from "./certificate.ts";
import { EventHistory } from "./event-history.ts";
import { type ApiServer, serveApi } from "./https-server.ts";
import { Objects } from "./objects.ts";
import { type ApiMetrics, observed, type Route } from "./observe.ts";
import { createRouter } from "./router.ts";
import { SignedValues } from "./signed-values.ts";

/** Whom problems and provenance name. */
const storeName = "api";
const bucket = "config";
/** Space for the headers of a message, beside its payload. */
const headerBytes = 1_024;
const keptEvents = 10_000;

/** Undefined when there is to be no API. Waits for a bus that is away. Rejects with the reason of `stop`. */
export async function openApiStore(
  {
    apiPort,
    apiMaxObjects,
    apiMaxWaiting,
    workDir,
    podName = "replica",
  }: ApiSettings & { readonly podName?: string | undefined },
  {
    bus,
    seal,
    health,
    failures,
    log,
  }: Pick<ApiOptions, "health" | "failures" | "log"> & { readonly bus: Bus; readonly seal: Seal | undefined },
  stop: AbortSignal,
): Promise<DurableStore | undefined> {
  if (apiPort === undefined) return undefined;
  const signed = new SignedValues(workDir);
  const { acceptsAny } = signed;
  // Replicas on one host share the work directory.
  const file = join(workDir, "config-controller", `objects-${encodeURIComponent(podName)}.journal`);
  const open = async (): Promise<DurableStore> => {
    const values = await bus.keyValue(bucket, { acceptsAny });
    const bounds = {
      maxBytes: bus.maxMessageBytes - headerBytes,
      maxObjects: apiMaxObjects,
      maxWaiting: apiMaxWaiting,
    };
    const clock = { nowMs: Date.now, random: Math.random };
    const durable = await openDurableStore({
      ...{ name: storeName, values, seal, log, ...bounds, ...clock },
      journal: new ObjectJournal({ file, seal, log }),
    });
    if (seal !== undefined) await signed.migrate(durable);
    return durable;
  };
  const readStored = async (): Promise<DurableStore> => {
    try {
      return await orAborted(open(), stop);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      health.setCondition("api", `objects written over it cannot be read: ${reason}`);
      throw error;
    }
  };
  return keepTrying(
    readStored,
    { what: "reading what was written over the api", log, failures, random: Math.random },
    stop,
  );
}

export interface ApiOptions {
  readonly bus: Bus;
  /** How often what is stored is compared with what is held. */
  readonly compareEveryMs: number;
  readonly settings: ApiSettings;
  readonly certificate: OwnCertificate;
  readonly durable: DurableStore;
  readonly view: AggregateStore;
  /** Names of the sources in the view, the one that wins first. */
  readonly order: readonly string[];
  readonly health: Health;
  readonly failures: FailingWork;
  readonly metrics: ApiMetrics;
  readonly log: Logger;
}

const lostWrites = {
  condition: "lost writes",
  lossText: (names: string) => `the bus lost what it had acknowledged, written again: ${names}`,
};

/** Runs until `stop`. */
export async function runApi(options: ApiOptions, stop: AbortSignal): Promise<void> {
  const { durable, failures, log } = options;
  const ended = new AbortController();
  const running = AbortSignal.any([stop, ended.signal]);
  try {
    const comparing = { ...options, stored: durable, everyMs: options.compareEveryMs, nowMs: Date.now, ...lostWrites };
    const keep = (what: string, work: (until: AbortSignal) => Promise<void>) =>
      keepRunning(work, { what, log, failures, random: Math.random }, running);
    await Promise.all([
      keep("following what is written over the api", (until) => durable.follow(until)),
      keep("comparing what was written over the api", (until) => compareStored(comparing, until)),
      serve({ ...options, log: log.child({ part: "api" }) }, running),
    ]);
  } finally {
    ended.abort();
  }
}

async function serve(options: ApiOptions, stop: AbortSignal): Promise<void> {
  const { settings, certificate, durable, health, log } = options;
  using history = new EventHistory(durable, keptEvents);
  await using thread = new ValidationThread({ patchValues: true });
  const answer = observed(createRoute(options, history, thread), {
    metrics: options.metrics,
    log,
    nowMs: () => performance.now(),
  });
  const { promise: first, resolve } = Promise.withResolvers<KeyPair>();
  let [newest, server]: [KeyPair | undefined, ApiServer | undefined] = [undefined, undefined];
  let url: string | undefined;
  const access = pageAccess({ isOn: true, workDir: settings.workDir, namespace: settings.namespace, log });
  health.route(
    "GET",
    "/debug/api",
    access.read(() => ({ json: { url: url ?? null, service: accountName({ ...settings, serviceAccount }) } })),
  );
  const onCertificate = (keyPair: KeyPair): void => {
    newest = keyPair;
    server?.reload(keyPair);
    resolve(keyPair);
  };
  const onTrouble = (reason: string | undefined) => health.setCondition("api", reason);
  const following = followCertificate({ settings, certificate, log, onCertificate, onTrouble }, stop);
  const serving = async (): Promise<void> => {
    const keyPair = await orAborted(first, stop);
    const { apiHost: host, apiPort: port = 0 } = settings;
    const at = { host, port, setting: "API_PORT", policy: settings };
    await using open = await serveApi({ ...at, keyPair: newest ?? keyPair, log, answer });
    server = open;
    url = `https://localhost:${open.port}`;
    log.info("api open", { url });
    await following;
  };
  await Promise.all([serving(), following]);
}

function createRoute(
  { settings, durable, view, order, log }: ApiOptions,
  history: EventHistory,
  thread: ValidationThread,
): Route {
  const validate = createValidator({ patchValue: () => patchValueProblem });
  const objects = new Objects({
    durable,
    validate: (object) => validate({ ...object }),
    thread,
    hiddenBy: (key) => view.hiddenBy(storeName, key),
    randomName: () => randomUUID().slice(0, 5),
  });
  const stores = order.map(
    (name): ConfigStore => (name === storeName ? durable.store : readOnlyStore(name, view.tableOf(name))),
  );
  const { apiWriters: writers, apiReaders: readers, apiMaxWatches: maxWatches } = settings;
  const access = createAccess({ authenticator: authenticatorOf(settings, log), writers, readers, log });
  const inForce = layeredStore("the configuration", stores);
  return createRouter({ durable, objects, history, inForce, access, maxWatches, version: manifest.version });
}

function authenticatorOf({ workDir, apiAudience, apiJwtRule }: ApiSettings, log: Logger) {
  const jwtRules = [
    localIssuerRule(workDir, [apiAudience]),
    ...(apiJwtRule === undefined ? [] : [{ ...parseJwtRule(apiJwtRule), audiences: [apiAudience] }]),
  ];
  return peerIdentity({ jwtRules, trustDomains: anyTrustDomain, nowMs: Date.now, log }).authenticator;
}
