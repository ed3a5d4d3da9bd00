/** Rules for the subject of a commit: `area: imperative`. */

const MADE_BY_GIT = /^(?:(?:fixup|squash|amend)! |Merge |Revert ")/;
const FORM = /^[a-z][a-z0-9-]*: (?<words>.+)$/;
const MAX_LENGTH = 72;

/** First words that show that a subject is not imperative. */
const NO_VERBS = new Set(
  [
    'a an the this that these those its their our all any both each every no one some several two three',
    'of in on at by for from to with without after before during since until',
    'is are was were be been has have had can could may might must shall should will would',
    'what when where which who whose how why if while because although it they we you he she',
    'not new more',
  ].flatMap((words) => words.split(' ')),
);
/** Imperatives that look like another verb form. */
const VERBS = new Set(['bring', 'embed', 'exceed', 'feed', 'focus', 'need', 'proceed', 'seed', 'speed', 'string']);

/** The problem is a predicate, such as "ends with a full stop". */
export function subjectProblem(subject: string): string | undefined {
  if (MADE_BY_GIT.test(subject)) return undefined;
  const words = FORM.exec(subject)?.groups?.['words'];
  if (words === undefined) return 'is not of the form "area: imperative", with the area in lower case';
  if (subject.length > MAX_LENGTH) return `has ${subject.length} characters, and ${MAX_LENGTH} are allowed`;
  if (words.endsWith('.')) return 'ends with a full stop';
  const [first = ''] = words.split(/[^\w'-]/);
  if (isNoImperative(first)) return `does not begin with an imperative, such as "add" or "remove": "${first}"`;
  return undefined;
}

function isNoImperative(word: string): boolean {
  if (VERBS.has(word)) return false;
  return NO_VERBS.has(word.toLowerCase()) || /^[A-Z]/.test(word) || /(?:[^s]s|ed|ing)$/.test(word);
}
