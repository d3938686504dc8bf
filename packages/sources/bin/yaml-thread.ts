/** Parses the documents that it is sent, one after the other. */
import { parentPort } from "node:worker_threads";
import { parseDocumentText } from "../src/documents.ts";

parentPort?.on("message", (body: string) => parentPort?.postMessage(parseDocumentText(body)));
