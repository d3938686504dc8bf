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
  // As a name between quotes, slashes or dots it is a user, a host or an object of a test.
  { word: /(?<!["'/.|`=%-])\b[Nn]obody\b(?!["'/.:`-])/, instead: "no caller, no replica, no proxy" },
  { word: /\b(?:is|are|was|were) heard\b|^\s*(?:\/\*\*|\*|\/\/) Hears\b/, instead: "receives, follows, subscribes to" },
  { word: /\bcomes? again\b/i, instead: "reconnect, retry, arrive again" },
  { word: /\bby turns\b/i, instead: "alternately" },
  { word: /\bwithout a word\b/i, instead: "without a log line" },
  {
    word: /\b(?:code|file|folder|package|page|table|script|Redis|NATS|Envoy|Sentinels?) (?:knows?|knew|says|said|wants|thinks)\b/i,
    instead: "has, supports, states, requires",
  },
  {
    word: /(?:^|[.;] |\| )What (?:is|was|has|had|it|they|the|a|an|no|can|cannot|one)\b(?![^.;|]*\?)/,
    instead: "the thing itself",
  },
  {
    word: /[;:] (?:and )?what (?:is|was) (?:not |no |there|gone|left|held|known|read|written|published)\b/,
    instead: "the thing itself",
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
