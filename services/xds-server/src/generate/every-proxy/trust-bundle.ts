/**
 * PCDS: the roots that the mesh trusts, as ca publishes them. pilot-agent asks for it (PROXY_CONFIG_XDS_AGENT) and hands the roots to its
 * Envoy, so a proxy trusts a new root long before its certificate is renewed.
 * differs: istiod sends it with ISTIO_MULTIROOT_MESH only; here every client that asks gets it, as a rotation counts on it.
 */
import type { TrustBundleSpec } from "@flotilla/auth";
import { create, typeUrl } from "@flotilla/proto";
import { ProxyConfigSchema } from "@flotilla/proto/mesh/v1alpha1/proxy_pb";
import { createGenerator } from "../encode/generator.ts";

/** The only resource has no name. Nothing is sent before ca has published: the proxies keep the root they started with. */
export const trustBundle = createGenerator({
  typeUrl: typeUrl.proxyConfig,
  schema: ProxyConfigSchema,
  names: (view) => (view.all("TrustBundle").length === 0 ? [] : [""]),
  select: (view) => {
    const [bundle] = view.all<TrustBundleSpec>("TrustBundle");
    // Revocation lists are for xds-server itself.
    return bundle && { roots: bundle.spec.roots };
  },
  build: ({ roots }) => create(ProxyConfigSchema, { caCertificatesPem: roots.map(({ pem }) => pem) }),
});
