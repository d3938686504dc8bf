/** Type URLs of Istio's own extensions: a stock Envoy has none of them. */
export const istioExtensions = {
  networkMetadataExchange: "type.googleapis.com/envoy.tcp.metadataexchange.config.MetadataExchange",
  httpPeerMetadata: "type.googleapis.com/io.istio.http.peer_metadata.Config",
  alpn: "type.googleapis.com/istio.envoy.config.filter.http.alpn.v2alpha1.FilterConfig",
  stats: "type.googleapis.com/stats.PluginConfig",
} as const;
