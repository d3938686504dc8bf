/** Selects the parts of the Gateway API that are followed in a cluster, by the names that istiod reads them under. */
import { flag, type SettingsOf } from "@flotilla/runtime";

export const gatewayApiSettings = {
  followsGatewayApi: flag({
    env: "PILOT_ENABLE_GATEWAY_API",
    default: true,
    sentence: "The Gateway API is followed where its definitions are installed.",
  }),
  followsAlphaGatewayApi: flag({
    env: "PILOT_ENABLE_ALPHA_GATEWAY_API",
    default: true,
    sentence:
      "Experimental kinds of the Gateway API (XBackend, XListenerSet) are followed too where they are installed; istiod's default is false.",
  }),
  followsInferencePools: flag({
    env: "ENABLE_GATEWAY_API_INFERENCE_EXTENSION",
    default: true,
    sentence: "InferencePools are followed where their definition is installed; istiod's default is false.",
  }),
  writesGatewayApiStatus: flag({
    env: "PILOT_ENABLE_GATEWAY_API_STATUS",
    default: true,
    sentence: "Statuses of the Gateway API's kinds are written, unless PILOT_ENABLE_STATUS is false.",
  }),
} as const;

const groups = {
  standard: "*.gateway.networking.k8s.io",
  alpha: "*.gateway.networking.x-k8s.io",
  inference: "*.inference.networking.k8s.io",
};

/** Resources that are left alone, in the form of PILOT_IGNORE_RESOURCES. */
export function ignoredGatewayApi({
  followsGatewayApi,
  followsAlphaGatewayApi,
  followsInferencePools,
}: SettingsOf<typeof gatewayApiSettings>): readonly string[] {
  if (!followsGatewayApi) return Object.values(groups);
  return [...(followsAlphaGatewayApi ? [] : [groups.alpha]), ...(followsInferencePools ? [] : [groups.inference])];
}

type StatusSettings = Pick<SettingsOf<typeof gatewayApiSettings>, "followsGatewayApi" | "writesGatewayApiStatus">;

export function writesGatewayStatus(settings: StatusSettings & { readonly writesStatus: boolean }): boolean {
  return settings.writesStatus && settings.followsGatewayApi && settings.writesGatewayApiStatus;
}
