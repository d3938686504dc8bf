export type { AnalysisTools, Analyzer } from "./analyzer.ts";
export { createAnalyzers } from "./analyzers/all.ts";
export { assumedObjects, assumedPods } from "./assumed-objects.ts";
export type { Finding } from "./finding.ts";
export { MeshAnalysis, type ObjectChange } from "./mesh-analysis.ts";
export { type MeshObject, type MeshSettings, meshObject, meshSettings, objectTitle } from "./mesh-object.ts";
export { reaches } from "./messages/message.ts";
export { messageList } from "./messages/messages.ts";
export { isSuppressed, isSuppressedByObject, parseSuppression, type Suppression } from "./suppression.ts";
