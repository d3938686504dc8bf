/** Words that only their author understood, with what to write instead: names, comments and pages keep to the field's terms. */

interface FlaggedWord {
  readonly word: RegExp;
  readonly instead: string;
}

const flagged: readonly FlaggedWord[] = [
  { word: /\bbreathers?\b/i, instead: "TimeSlice" },
  { word: /\bebb\b/i, instead: "mass disconnect" },
  { word: /\bentrance\b/i, instead: "stream admission" },
  { word: /\boccasion\b/i, instead: "publish options" },
  { word: /\bpatiently\b/i, instead: "retryUntilAborted" },
  { word: /\bconnectTelling\b/, instead: "connectWithHealth" },
  { word: /\boutlook\b/i, instead: "transition input" },
  { word: /\bwish(es)?\b/i, instead: "request" },
  { word: /\bjudges\b/i, instead: "reviewers, decides" },
  { word: /\bstatedTls\b/, instead: "destinationRuleTls" },
  { word: /\bautomaticTls\b/, instead: "autoMtlsMatches" },
  { word: /whether it lives\b/i, instead: "keepalive" },
  { word: /\bmended\b/i, instead: "repaired" },
  { word: /AbortSignal\.any\(.*AbortSignal\.timeout/, instead: "timeLimit of @flotilla/runtime, which always fires" },
  {
    word: /\b(?:un)?told\b|\btell(?:s|ing)?\b|[a-z](?:Told|Tells?)\b|\b(?:told|tells?)[A-Z]/i,
    instead: "report, publish, send, notify",
  },
  {
    word: /\bMachine(?:Key|Claim|Rules|Side|Source|Records|Change)\b|\b(?:en|de)codeMachines\b/,
    instead: "RegisteredWorkload",
  },
];

export interface FoundWord {
  readonly line: number;
  readonly text: string;
  readonly instead: string;
}

export function flaggedWords(text: string): readonly FoundWord[] {
  return text.split("\n").flatMap((line, at) =>
    flagged.flatMap(({ word, instead }) => {
      const found = word.exec(line)?.[0];
      return found === undefined ? [] : [{ line: at + 1, text: found, instead }];
    }),
  );
}

/** The first word of a comment, which begins in this line or, after `/**` alone, in the next. */
const openings = /(?:\/\*\*\s*(?:\n\s*\*\s*)?|(?<!^\s*\/\/.*\n\s*)\/\/ )(What|Who|Which|Whether|Whoever)\b/gm;

/** Comments that begin with a question's word: they begin with the thing that they are about. */
export function questionOpenings(text: string): readonly FoundWord[] {
  return [...text.matchAll(openings)].map((match) => ({
    line: text.slice(0, match.index + match[0].length).split("\n").length,
    text: match[1] ?? "",
    instead: "the thing that the comment is about",
  }));
}
