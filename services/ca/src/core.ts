/** The pure parts, for conformance and benchmarks. */
export { PodTable } from "./authorize/pod-table.ts";
export { CaError } from "./errors.ts";
export { type MaterialFiles, readMaterial, type SigningMaterial } from "./roots/material.ts";
export { issueWorkload, type WorkloadRequest } from "./sign/issue-workload.ts";
