/** The pure parts, for conformance and benchmarks. */
export { PodTable } from "./authorize/pod-table.ts";
