/** Programs that tests and benches start and observe: control planes, the demo's data plane, requests through it. */
export { run } from "../command-line.ts";
export { binomialBounds } from "../demo/checks.ts";
export { type Fleet, startBackends, startFleet, startProxy, workloadCertificate } from "../demo/fleet.ts";
export { copySample, type MeshFolder } from "../demo/mesh-folder.ts";
export { call, countVersions } from "../demo/requests.ts";
export { type Layout, paths } from "../layout.ts";
export { healthUrlOf, type Running, type RunningReplica, readRunning } from "../running.ts";
export { allReady } from "../supervise/all-ready.ts";
export { type ChildService, startChild } from "../supervise/child-service.ts";
export { type ControlPlane, startControlPlane } from "../supervise/control-plane.ts";
export { healthOf } from "../supervise/health.ts";
export { factsOf, isAlive } from "../supervise/processes.ts";
