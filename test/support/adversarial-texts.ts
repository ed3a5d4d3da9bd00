/**
 * Returns functions that build the texts on which a regular expression may backtrack longest. Each text consists of an
 * optional prefix that matches the beginning of the expression, a repetition of text that matches some of its parts,
 * and a suffix that makes the match fail.
 */
export function adversarialTexts({ source, flags }: RegExp): readonly AdversarialText[] {
  const parts = partsOf(source, flags);
  return pumpsOf(parts).flatMap(({ text, from }) =>
    ['', parts.slice(0, from).map(shortestMatch).join('')].flatMap((start) =>
      ENDS.map(
        (end): AdversarialText =>
          (length) =>
            start + text.repeat(Math.ceil(length / text.length)) + end,
      ),
    ),
  );
}

/** @param length length of the repetition, in characters */
type AdversarialText = (length: number) => string;

/**
 * Returns whether a text may make the expression backtrack for long: a part repeats without a bound, or the product of
 * all repetition bounds exceeds `LARGEST_BOUND`.
 */
export function repeats(source: string): boolean {
  const outsideClasses = source.replaceAll(CLASS, 'c').replaceAll(/\\[^]/g, 'e');
  if (/[*+]|\{\d+,\}/.test(outsideClasses)) return true;
  const bounds = [...outsideClasses.matchAll(/\{(?:\d+,)?(\d+)\}/g)].map(([, bound]) => Number(bound));
  return bounds.reduce((product, bound) => product * Math.max(1, bound), 1) > LARGEST_BOUND;
}

/** Maximum product of an expression's repetition bounds at which the expression is assumed not to backtrack. */
const LARGEST_BOUND = 300;
/**
 * Suffixes meant to make the match fail. Most character classes exclude at least one character of the second suffix.
 */
const ENDS = ['', '\u0000\n'];
/** Maximum number of parts of the expression that the repeated text matches. */
const LONGEST_PUMP = 12;
/**
 * Maximum number of parts for which the repeated text is tried with different characters. For more parts, only the
 * first character of each part is used.
 */
const LONGEST_VARIED = 4;
/** Maximum number of different characters of an expression for which all pairs of characters are also tried. */
const MAX_PAIRED = 16;

interface Part {
  /** Characters of different kinds that the part matches. */
  readonly characters: readonly string[];
  /** Minimum number of occurrences of the part. */
  readonly least: number;
}

interface Pump {
  readonly text: string;
  /** Index of the first part that the text matches. */
  readonly from: number;
}

function pumpsOf(parts: readonly Part[]): readonly Pump[] {
  const found = new Map<string, Pump>();
  const add = (text: string, from: number) => {
    if (text !== '' && !found.has(`${from} ${text}`)) found.set(`${from} ${text}`, { text, from });
  };
  for (let from = 0; from < parts.length; from += 1) {
    for (let to = from + 1; to <= Math.min(parts.length, from + LONGEST_PUMP); to += 1) {
      for (let kind = 0; kind < (to - from > LONGEST_VARIED ? 1 : MAX_KINDS); kind += 1) {
        const characters = parts.slice(from, to).map((part) => part.characters[kind % part.characters.length] ?? '');
        add(characters.join(''), from);
      }
    }
  }
  const alphabet = [...new Set(parts.flatMap(({ characters }) => characters))];
  if (alphabet.length > MAX_PAIRED) return [...found.values()];
  for (const first of alphabet) for (const second of alphabet) add(first + second, 1);
  return [...found.values()];
}

function shortestMatch({ characters: [first = ''], least }: Part): string {
  return first.repeat(Math.min(least, 64));
}

const CLASS = /\[\^?\]?(?:[^\]\\]|\\[^])*\]/g;
const TOKEN =
  /(?<atom>\[\^?(?:[^\]\\]|\\[^])*\]|\\[pP]\{[^}]*\}|\\u\{[^}]*\}|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\[^bBk1-9]|[^\\()[\]{}|^$*+?])(?:\{(?<least>\d+)[^}]*\})?|\\[^]|\(\?(?:[:=!]|<[=!]|<\w+>)|[^]/gu;
/** One character of each kind that expressions distinguish. */
const SAMPLES = Array.from('a0- A_z.\t\n\r,;:/"\'\\=+@#\u00e9\u0301\u200b\u0661\u2028\u0000\u{1f4b3}');
const MAX_KINDS = 3;

function partsOf(source: string, flags: string): readonly Part[] {
  const tokens = [...source.matchAll(TOKEN)].flatMap(({ groups }) => (groups?.['atom'] ? [groups] : []));
  const samples = [...new Set([...tokens.flatMap(({ atom = '' }) => Array.from(atom)), ...SAMPLES])];
  return tokens.map(({ atom = '', least = '1' }) => {
    const one = new RegExp(`^(?:${atom})$`, flags.replaceAll(/[gy]/g, ''));
    return { characters: kindsOf(samples.filter((sample) => one.test(sample))), least: Math.max(1, Number(least)) };
  });
}

function kindsOf(matching: readonly string[]): readonly string[] {
  const word = matching.find((each) => /\w/.test(each));
  const mark = matching.find((each) => !/[\w\s]/.test(each));
  const chosen = [word, mark, ...matching].filter((each) => each !== undefined);
  return [...new Set(chosen)].slice(0, MAX_KINDS);
}
