/** Certificates, settings and log levels. */
import type { Certificates, Rotation, ServiceName, ServiceSettings } from "@flotilla/console/contract";
import { RequestRefused } from "../errors.ts";
import { type ApiRequest, type Handlers, param } from "../serve/endpoint.ts";
import { awayOf, expectAnswer, type Services } from "../upstream/services.ts";
import type { MetricWatch } from "../watch/metric-watch.ts";
import { watchedServices } from "../watch/replica-watch.ts";

type OperationHandlers = Pick<
  Handlers,
  "GET /api/v1/certificates" | "GET /api/v1/settings" | "PUT /api/v1/settings/{service}/{replica}/levels"
>;

export interface OperationSources {
  readonly services: Services;
  readonly metrics: Pick<MetricWatch, "issued" | "stepMs">;
  /** Settings and levels of the console itself. */
  readonly own: () => ServiceSettings;
}

export function operationHandlers(sources: OperationSources): OperationHandlers {
  return {
    "GET /api/v1/certificates": (request) => certificates(sources, request),
    "GET /api/v1/settings": (request) => settings(sources, request),
    "PUT /api/v1/settings/{service}/{replica}/levels": (request) => changeLevel(sources, request),
  };
}

type CaPage = Pick<Certificates, "trustDomains" | "roots"> & { readonly signing: Certificates["signing"] | null };

/** As `/debug/rotation` of ca answers it. */
interface RotationPage extends Pick<Rotation, "phase" | "holdups" | "certificates" | "proxies" | "meaning"> {
  readonly phaseSinceMs: number;
  readonly roots?: { readonly old: string; readonly next: string };
  readonly last?: { readonly id: string; readonly outcome: string; readonly atMs: number };
}

async function certificates({ services, metrics }: OperationSources, request: ApiRequest): Promise<Certificates> {
  const { token } = request.session;
  const [ca, rotation, endings] = await Promise.all([
    services.first<CaPage>("ca", { path: "/debug/caz", token }),
    services.first<RotationPage>("ca", { path: "/debug/rotation", token }),
    services.first<{ readonly endings: Certificates["endingSoon"] }>("ca", { path: "/debug/endings", token }),
  ]);
  const { trustDomains = [], roots = [], signing = null } = ca.isAnswered ? ca.value : {};
  const away = awayOf([ca, rotation, endings]);
  return {
    ...{ trustDomains, roots, issued: metrics.issued(), stepMs: metrics.stepMs },
    ...(signing !== null && { signing }),
    ...(rotation.isAnswered && { rotation: rotationOf(rotation.value) }),
    endingSoon: endings.isAnswered ? endings.value.endings : [],
    away: away.slice(0, 1),
  };
}

function rotationOf({
  phase,
  phaseSinceMs,
  roots,
  last,
  holdups,
  certificates,
  proxies,
  meaning,
}: RotationPage): Rotation {
  return {
    ...{ phase, meaning, holdups, certificates, proxies },
    ...(phase !== "idle" && { since: new Date(phaseSinceMs).toISOString() }),
    ...(roots !== undefined && { roots: { old: roots.old, next: roots.next } }),
    ...(last !== undefined && {
      last: { id: last.id, outcome: last.outcome, at: new Date(last.atMs).toISOString() },
    }),
  };
}

async function settings({ services, own }: OperationSources, { session: { token } }: ApiRequest) {
  const asked = await Promise.all(
    watchedServices.map(async (service) => ({
      service,
      answers: await services.all<Omit<ServiceSettings, "service" | "replica">>(service, {
        path: "/debug/settings",
        token,
      }),
    })),
  );
  const answered = asked.flatMap(({ service, answers }) =>
    answers.flatMap((answer): readonly ServiceSettings[] => {
      if (!answer.isAnswered) return [];
      const { version, settings: of, levels } = answer.value;
      return [{ service, replica: answer.replica, version, settings: of, levels }];
    }),
  );
  return { services: [...answered, own()], away: asked.flatMap(({ answers }) => awayOf(answers)) };
}

/** The service decides who may. @throws RequestRefused not-found, bad-request, forbidden */
async function changeLevel({ services }: OperationSources, request: ApiRequest): Promise<undefined> {
  const [service, replica] = [param(request, "service"), param(request, "replica")];
  const known: ServiceName | undefined = watchedServices.find((one) => one === service);
  const address = known && (await services.replicas(known)).find(({ name }) => name === replica);
  if (known === undefined || address === undefined)
    throw new RequestRefused("not-found", `there is no replica ${replica} of ${service}`);
  const { token } = request.session;
  const body = await request.body();
  expectAnswer(await services.at(known, address, { path: "/debug/levels", method: "PUT", body, token }));
  return undefined;
}
