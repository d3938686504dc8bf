export { type DirectorySourceOptions, directorySource } from "./directory-source.ts";
export {
  type DocumentCheck,
  type DocumentReading,
  type DocumentSource,
  type DocumentSourceOptions,
  type DocumentVersion,
  documentSource,
  readDocumentAside,
} from "./document-source.ts";
export { type ParsedDocument, parseDocumentAside, wrongKeys } from "./documents.ts";
export type { SourceErrorCode } from "./errors.ts";
export { PendingChanges, type PendingOptions } from "./pending-changes.ts";
export type { Admission, FileReading, KnownKind } from "./read-objects.ts";
export type { ObjectKey, ObjectSource, SourceChange, SourceGroup, SourceProblem } from "./source.ts";
export { type ForeignKind, foreignKind, ProblemLog, type ProblemNews } from "./source.ts";
