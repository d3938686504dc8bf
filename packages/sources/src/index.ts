export { type DirectorySourceOptions, directorySource } from "./directory-source.ts";
export {
  type DocumentSource,
  type DocumentSourceOptions,
  type DocumentVersion,
  documentSource,
} from "./document-source.ts";
export { type ParsedDocument, parseDocumentText } from "./documents.ts";
export type { SourceErrorCode } from "./errors.ts";
export { type GroupSource, mergeGroups, type NamedGroup } from "./merge-groups.ts";
export { PendingChanges, type PendingOptions } from "./pending-changes.ts";
export { ProblemLog, type ProblemNews } from "./problem-log.ts";
export { type DocumentCheck, type DocumentReading, readDocument } from "./read-document.ts";
export type { Admission, FileReading, KnownKind } from "./read-objects.ts";
export type { ObjectKey, ObjectSource, SourceChange, SourceGroup, SourceProblem } from "./source.ts";
