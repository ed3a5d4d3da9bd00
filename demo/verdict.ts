/**
 * The counts of one scenario on one side, each read where the data is stored. The counts are correct if all are 1, or,
 * in a scenario in which the processor must refuse, if all are 0.
 */
export interface Counts {
  /** Number of charges or refunds in the processor's list. */
  readonly atProcessor: number;
  /** Number of posting sets in the books. */
  readonly postings: number;
  /** Number of distinct events that the bus delivered. Redeliveries are not counted. */
  readonly events: number;
  /** Number of rows that the consumer wrote. */
  readonly effects: number;
}

/** A failure, and the counts that are expected after it. */
export interface Trouble {
  readonly trouble: string;
  /** Kind of objects to count at the processor. */
  readonly moves: 'charge' | 'refund';
  /**
   * Expected value of each count; 0 when the processor refuses.
   * @default 1
   */
  readonly expected?: 0;
}

/** One row of the table: a failure and the counts of both sides. */
export interface Finding extends Trouble {
  readonly naive: Counts;
  readonly payonce: Counts;
}

/** Reports whether each effect took place exactly as often as it must. */
export function isExact(counts: Counts, trouble: Pick<Trouble, 'expected'>): boolean {
  const { expected = 1 } = trouble;
  return Object.values(counts).every((count) => count === expected);
}

/**
 * If all counts are as expected, returns `once`, or `nothing` in a scenario in which the processor must refuse.
 * Otherwise, lists every unexpected count.
 */
export function verdict(counts: Counts, trouble: Pick<Trouble, 'moves' | 'expected'>): string {
  const { moves, expected = 1 } = trouble;
  if (isExact(counts, trouble)) return expected === 1 ? 'once' : 'nothing';
  const rows: readonly (readonly [number, string])[] = [
    [counts.atProcessor, moves],
    [counts.postings, 'posting'],
    [counts.events, 'event'],
    [counts.effects, 'effect'],
  ];
  return rows
    .filter(([count]) => count !== expected)
    .map(([count, what]) => (count === 0 ? `no ${what}` : `${count} ${what}${count === 1 ? '' : 's'}`))
    .join(', ');
}

/** Returns the exit code: 0 only if there are results and Payonce was correct in all of them. */
export function exitCode(findings: readonly Finding[]): 0 | 1 {
  return findings.length > 0 && findings.every((finding) => isExact(finding.payonce, finding)) ? 0 : 1;
}

const HEAD = ['failure', 'naive', 'Payonce', 'naive, in words', 'Payonce, in words'];

/** Returns the rows of the table, starting with its header. Counts are `charges / postings / events / effects`. */
export function cells(findings: readonly Finding[]): readonly (readonly string[])[] {
  return [
    HEAD,
    ...findings.map((finding) => [
      finding.trouble,
      shortly(finding.naive),
      shortly(finding.payonce),
      verdict(finding.naive, finding),
      verdict(finding.payonce, finding),
    ]),
  ];
}

function shortly({ atProcessor, postings, events, effects }: Counts): string {
  return [atProcessor, postings, events, effects].join(' / ');
}

/** Renders the table for a terminal. */
export function plainTable(findings: readonly Finding[]): string {
  const rows = cells(findings);
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return lines.toSpliced(1, 0, widths.map((width) => '─'.repeat(width)).join('  ')).join('\n');
}
