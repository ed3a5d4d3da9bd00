export interface RecordedRates {
  readonly atMs: number;
  /** Entries of the form `yyyy-mm-dd payments/tenantPayments`, separated by commas. */
  readonly peakRates?: string | undefined;
}

interface RatesFinding {
  readonly check: 'peak_rates';
  readonly about: string;
  readonly detail: string;
}

const DAY_LENGTH = 'yyyy-mm-dd'.length;

/**
 * Finds entries of `peakRates` that took effect and were later changed or removed. Without such an entry, the functions
 * cannot find the rows from its period. Also finds new entries whose day has already begun.
 *
 * @param recorded newest first
 * @param planned the setting of the next deployment, if it is known @default the newest recorded one
 */
export function examinePeakRates(
  recorded: readonly RecordedRates[],
  nowMs: number,
  planned?: string,
): readonly RatesFinding[] {
  const [newest] = recorded;
  if (newest === undefined) return [];
  const latest = entriesOf(planned ?? newest.peakRates);
  const lost = recorded.flatMap(({ peakRates }, index) => {
    const untilMs = recorded[index - 1]?.atMs ?? nowMs;
    return entriesOf(peakRates).filter((entry) => begins(entry) < untilMs && !latest.includes(entry));
  });
  const deployed = entriesOf(newest.peakRates);
  const late = latest.filter((entry) => begins(entry) <= nowMs && planned !== undefined && !deployed.includes(entry));
  return [
    ...[...new Set(lost)].map((entry) => ({
      check: 'peak_rates' as const,
      about: entry,
      detail:
        'This entry took effect and was later changed or removed. Restore it; otherwise Payonce cannot find unfinished work from that period.',
    })),
    ...late.map((entry) => ({
      check: 'peak_rates' as const,
      about: entry,
      detail: 'The day of this entry has begun. Use a day after the deployment.',
    })),
  ];
}

function entriesOf(peakRates = ''): readonly string[] {
  return peakRates === '' ? [] : peakRates.split(', ');
}

function begins(entry: string): number {
  return Date.parse(entry.slice(0, DAY_LENGTH));
}
