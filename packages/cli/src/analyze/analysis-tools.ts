/** Parts of the platform that analyzers need: the time, and certificates. */
import { X509Certificate } from "node:crypto";
import type { AnalysisTools } from "@flotilla/analysis";

export const analysisTools: AnalysisTools = {
  nowMs: Date.now,
  validityOf: (pem) => {
    const { validFromDate, validToDate } = new X509Certificate(pem);
    return { notBeforeMs: validFromDate.getTime(), notAfterMs: validToDate.getTime() };
  },
};
