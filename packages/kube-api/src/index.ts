export { KubeError, type KubeErrorCode } from "./errors.ts";
export { type FollowOptions, follow } from "./follow.ts";
export { type KubeApi, type KubeObject, openKubeApi } from "./kube-api.ts";
export { type KubeConfig, type KubeCredentials, loadKubeConfig } from "./kube-config.ts";
