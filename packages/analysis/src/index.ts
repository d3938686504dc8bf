export type { AnalysisTools, Analyzer } from "./analyzer.ts";
export { configurationAnalyzers, createAnalyzers } from "./analyzers/all.ts";
export { assumedObjects, assumedPods } from "./assumed-objects.ts";
export type { Finding } from "./finding.ts";
export { MeshAnalysis, type ObjectChange } from "./mesh-analysis.ts";
export {
  type MeshObject,
  type MeshSettings,
  meshObject,
  meshSettings,
  objectTitle,
  remoteService,
} from "./mesh-object.ts";
export { MeshReview, type ReviewLimits } from "./mesh-review.ts";
export { reaches } from "./messages/message.ts";
export { messageList } from "./messages/messages.ts";
export { PublishedServices } from "./published-service.ts";
export { isSuppressed, isSuppressedByObject, parseSuppression, type Suppression } from "./suppression.ts";
