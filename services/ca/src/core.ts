/** The pure parts, for conformance and benchmarks. */
export { authorizeNode, type NodePod, type NodeRules } from "./authorize/node-authorization.ts";
export { PodTable } from "./authorize/pod-table.ts";
export { CaError } from "./errors.ts";
export { type MaterialFiles, readMaterial, type SigningMaterial } from "./roots/material.ts";
export { issueWorkload, type WorkloadRequest } from "./sign/issue-workload.ts";
