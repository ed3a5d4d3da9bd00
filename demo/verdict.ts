/** The counts are correct if all are 1, or, in a scenario in which the processor must refuse, if all are 0. */
export interface Counts {
  readonly atProcessor: number;
  readonly postings: number;
  /** Number of distinct events that the bus delivered. Redeliveries are not counted. */
  readonly events: number;
  readonly effects: number;
}

export interface Trouble {
  readonly trouble: string;
  readonly moves: 'charge' | 'refund';
  /** 0 when the processor refuses. @default 1 */
  readonly expected?: 0;
}

export interface Finding extends Trouble {
  readonly naive: Counts;
  readonly payonce: Counts;
}

export function isExact(counts: Counts, trouble: Pick<Trouble, 'expected'>): boolean {
  const { expected = 1 } = trouble;
  return Object.values(counts).every((count) => count === expected);
}

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

export function exitCode(findings: readonly Finding[]): 0 | 1 {
  return findings.length > 0 && findings.every((finding) => isExact(finding.payonce, finding)) ? 0 : 1;
}

const HEAD = ['failure', 'naive', 'Payonce', 'naive, in words', 'Payonce, in words'];

/** Counts are `charges / postings / events / effects`. */
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
