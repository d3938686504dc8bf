/** Answers that the proxy gives itself: redirects and direct responses. */
import { create } from "@flotilla/proto";
import {
  type DirectResponseAction,
  DirectResponseActionSchema,
  type RedirectAction,
  RedirectAction_RedirectResponseCode,
  RedirectActionSchema,
} from "@flotilla/proto/envoy/config/route/v3/route_components_pb";
import {
  type HTTPDirectResponse,
  type HTTPRedirect,
  HTTPRedirect_RedirectPortSelection,
} from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";

const codes: ReadonlyMap<number, RedirectAction_RedirectResponseCode> = new Map([
  [301, RedirectAction_RedirectResponseCode.MOVED_PERMANENTLY],
  [302, RedirectAction_RedirectResponseCode.FOUND],
  [303, RedirectAction_RedirectResponseCode.SEE_OTHER],
  [307, RedirectAction_RedirectResponseCode.TEMPORARY_REDIRECT],
  [308, RedirectAction_RedirectResponseCode.PERMANENT_REDIRECT],
]);

/** The port at which requests arrive, and whether by TLS. */
export interface RequestPort {
  readonly listenPort: number;
  readonly arrivesByTls: boolean;
}

/** Undefined when there is no redirect with that status code. */
export function redirectAction(redirect: HTTPRedirect, request: RequestPort): RedirectAction | undefined {
  const responseCode = codes.get(redirect.redirectCode === 0 ? 301 : redirect.redirectCode);
  if (responseCode === undefined) return undefined;
  return create(RedirectActionSchema, {
    hostRedirect: redirect.authority,
    pathRewriteSpecifier:
      redirect.prefixRewrite === ""
        ? { case: "pathRedirect", value: redirect.uri }
        : { case: "prefixRewrite", value: redirect.prefixRewrite },
    ...(redirect.scheme !== "" && { schemeRewriteSpecifier: { case: "schemeRedirect", value: redirect.scheme } }),
    portRedirect: redirectPort(redirect, request),
    responseCode,
  });
}

/** 0 leaves the port to Envoy, which takes the default of the new scheme. */
function redirectPort({ redirectPort: port, scheme }: HTTPRedirect, { listenPort, arrivesByTls }: RequestPort): number {
  const isOfRequest = port.case === "derivePort" && port.value === HTTPRedirect_RedirectPortSelection.FROM_REQUEST_PORT;
  const wanted = port.case === "port" ? port.value : isOfRequest ? listenPort : 0;
  const isHttps = scheme === "" ? arrivesByTls : scheme === "https";
  return wanted === (isHttps ? 443 : 80) ? 0 : wanted;
}

export function directResponseAction({ status, body }: HTTPDirectResponse): DirectResponseAction {
  const content = body?.specifier;
  return create(DirectResponseActionSchema, {
    status,
    ...(content?.case === "string" && { body: { specifier: { case: "inlineString", value: content.value } } }),
    ...(content?.case === "bytes" && { body: { specifier: { case: "inlineBytes", value: content.value } } }),
  });
}
