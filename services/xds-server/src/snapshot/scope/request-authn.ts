/** The tokens that the proxy's workload takes, of all RequestAuthentications that hold for it; in order of issuers. */
import { type Config, compareText } from "@flotilla/model";
import type { JWTRule, RequestAuthentication } from "@flotilla/proto/security/v1beta1/request_authentication_pb";
import { byNamespace } from "../row-index.ts";
import { query } from "../view.ts";

export const requestAuthenticationsByNamespace = byNamespace<RequestAuthentication>("RequestAuthentication");

export const tokenRules = query<readonly JWTRule[]>(
  "token-rules",
  (view) => {
    const { proxy, mesh } = view;
    const all = [...new Set([mesh.rootNamespace, proxy.namespace])]
      .flatMap((namespace) => view.row(requestAuthenticationsByNamespace, namespace))
      .filter(
        ({ spec }: Config<RequestAuthentication>) => spec.targetRef === undefined && spec.targetRefs.length === 0,
      );
    return proxy
      .selecting(all, ({ spec }) => spec.selector?.matchLabels ?? {})
      .flatMap(({ spec }) => spec.jwtRules)
      .sort((a, b) => compareText(a.issuer, b.issuer));
  },
  (a, b) => a?.length === b.length && a.every((rule, i) => rule === b[i]),
);
