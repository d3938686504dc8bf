/**
 * Every endpoint. Requests carry the session's cookie; those that change something must come from the console's own origin. Names in
 * `{}` are encoded by `encodeURIComponent`. Lists are refused with 400 `bad-request` for a parameter that they do not have.
 */
import type {
  ApplyAnswer,
  ApplyRequest,
  ChangePage,
  ChangesQuery,
  CompareQuery,
  Comparison,
  DeleteAnswer,
  KindList,
  KindSchema,
  MadeResourcePage,
  ObjectDetail,
  ObjectHistory,
  ObjectPage,
  ObjectsQuery,
} from "./changes.ts";
import type { PageQuery } from "./common.ts";
import type {
  Certificates,
  LevelChange,
  NamespacePage,
  Neighbourhood,
  ServicesQuery,
  Settings,
  TopologyServicePage,
} from "./operations.ts";
import type { Overview, SessionInfo, SignIn } from "./overview.ts";
import type {
  ProxiesQuery,
  ProxyDetail,
  ProxyDiff,
  ProxyDiffQuery,
  ProxyPage,
  ProxyStats,
  RejectionPage,
  RejectionsQuery,
  ResourceDetail,
  ResourcePage,
  ResourcesQuery,
} from "./proxies.ts";
import type { RequestPath, RequestPathQuery } from "./request-path.ts";

type None = Readonly<Record<string, never>>;

/** An endpoint: its query, the JSON of its body, and that of its answer. */
interface Endpoint<Answer, Query = None, Body = undefined> {
  readonly query: Query;
  readonly body: Body;
  readonly answer: Answer;
}

/** Method and path → query, body, answer. `GET …/config-dump` answers a file, `GET /api/v1/events` a stream (events.ts). */
export interface Endpoints {
  /** 201; needs no session. */
  readonly "POST /api/v1/session": Endpoint<SessionInfo, None, SignIn>;
  readonly "GET /api/v1/session": Endpoint<SessionInfo>;
  /** 204. */
  readonly "DELETE /api/v1/session": Endpoint<undefined>;
  readonly "GET /api/v1/overview": Endpoint<Overview>;
  readonly "GET /api/v1/proxies": Endpoint<ProxyPage, ProxiesQuery>;
  readonly "GET /api/v1/proxies/{proxy}": Endpoint<ProxyDetail>;
  readonly "GET /api/v1/proxies/{proxy}/resources": Endpoint<ResourcePage, ResourcesQuery>;
  readonly "GET /api/v1/proxies/{proxy}/resource": Endpoint<
    ResourceDetail,
    { readonly type: string; readonly name: string }
  >;
  readonly "GET /api/v1/proxies/{proxy}/diff": Endpoint<ProxyDiff, ProxyDiffQuery>;
  readonly "GET /api/v1/proxies/{proxy}/config-dump": Endpoint<unknown>;
  readonly "GET /api/v1/proxies/{proxy}/stats": Endpoint<ProxyStats, PageQuery>;
  readonly "GET /api/v1/rejections": Endpoint<RejectionPage, RejectionsQuery>;
  readonly "GET /api/v1/changes": Endpoint<ChangePage, ChangesQuery>;
  readonly "GET /api/v1/changes/compare": Endpoint<Comparison, CompareQuery>;
  readonly "GET /api/v1/objects": Endpoint<ObjectPage, ObjectsQuery>;
  readonly "GET /api/v1/objects/{kind}/{namespace}/{name}": Endpoint<ObjectDetail>;
  readonly "GET /api/v1/objects/{kind}/{namespace}/{name}/history": Endpoint<ObjectHistory, PageQuery>;
  readonly "GET /api/v1/objects/{kind}/{namespace}/{name}/resources": Endpoint<MadeResourcePage, PageQuery>;
  readonly "POST /api/v1/objects/apply": Endpoint<ApplyAnswer, None, ApplyRequest>;
  readonly "DELETE /api/v1/objects/{kind}/{namespace}/{name}": Endpoint<DeleteAnswer>;
  readonly "GET /api/v1/kinds": Endpoint<KindList>;
  readonly "GET /api/v1/kinds/{name}/schema": Endpoint<KindSchema>;
  readonly "GET /api/v1/certificates": Endpoint<Certificates>;
  readonly "GET /api/v1/settings": Endpoint<Settings>;
  /** 204. */
  readonly "PUT /api/v1/settings/{service}/{replica}/levels": Endpoint<undefined, None, LevelChange>;
  readonly "GET /api/v1/topology/namespaces": Endpoint<NamespacePage, PageQuery>;
  readonly "GET /api/v1/topology/services": Endpoint<TopologyServicePage, ServicesQuery>;
  readonly "GET /api/v1/topology/services/{namespace}/{hostname}": Endpoint<Neighbourhood>;
  readonly "GET /api/v1/topology/path": Endpoint<RequestPath, RequestPathQuery>;
}
