/** What one trouble came to on one side, each counted at its owner. All are 1 where it happened once. */
export interface Counts {
  /** Charges, or refunds, in the processor's own list. */
  readonly atProcessor: number;
  /** Sets of postings in the books. */
  readonly postings: number;
  /** Different events that the bus delivered; one that was delivered again is the same. */
  readonly events: number;
  /** Rows that the consumer wrote. */
  readonly effects: number;
}

/** One row: a trouble, and what it came to on both sides. */
export interface Finding {
  readonly trouble: string;
  /** What is moved at the processor: `charge` or `refund`. */
  readonly moves: 'charge' | 'refund';
  readonly naive: Counts;
  readonly payonce: Counts;
}

function isOnce(counts: Counts): boolean {
  return Object.values(counts).every((count) => count === 1);
}

/** In words: `once`, or everything that is there more or less often. */
export function verdict(counts: Counts, moves: Finding['moves']): string {
  if (isOnce(counts)) return 'once';
  const told: readonly (readonly [number, string])[] = [
    [counts.atProcessor, moves],
    [counts.postings, 'posting'],
    [counts.events, 'event'],
    [counts.effects, 'effect'],
  ];
  return told
    .filter(([count]) => count !== 1)
    .map(([count, what]) => `${count === 0 ? 'no' : count} ${what}${count === 0 ? '' : 's'}`)
    .join(', ');
}

/** The exit code: 0 only when there is something to show and Payonce was right every time. */
export function exitCode(findings: readonly Finding[]): 0 | 1 {
  return findings.length > 0 && findings.every(({ payonce }) => isOnce(payonce)) ? 0 : 1;
}

const HEAD = ['trouble', 'naive', 'Payonce', 'naive, in words', 'Payonce, in words'];

/** The rows of the table, its head first. Counts are `charges / postings / events / effects`. */
export function cells(findings: readonly Finding[]): readonly (readonly string[])[] {
  return [
    HEAD,
    ...findings.map(({ trouble, moves, naive, payonce }) => [
      trouble,
      shortly(naive),
      shortly(payonce),
      verdict(naive, moves),
      verdict(payonce, moves),
    ]),
  ];
}

function shortly({ atProcessor, postings, events, effects }: Counts): string {
  return [atProcessor, postings, events, effects].join(' / ');
}

/** For a terminal. */
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
