import { LedgerRow } from '../../kernel/contract/rows.ts';
import { type OutcomePosition, positionAt, type RecentOutcomes, timeOf } from '../../payments/use/transition-reader.ts';
import type { Bounds } from '../domain/judge-chain.ts';
import { type LedgerRows, wholeChain } from './ledger-rows.ts';

/** Number of outcomes per page. The chains of these outcomes are read completely. */
const PAGE = 100;
const AT_ONCE = 10;
/** Maximum time range of the outcome index that one call reads, in milliseconds. */
const LONGEST_READ_MS = 24 * 60 * 60_000;

/**
 * Reads the rows of a time range without a scan: the complete chains of payments and orders that had an outcome in the
 * range, and the given chains of the activity log. Does not read a chain that has only pending transitions in the
 * range.
 */
export function rowsBetween(
  ledger: LedgerRows,
  outcomes: RecentOutcomes,
  { fromMs, untilMs }: Bounds,
  activity: readonly string[],
): LedgerRows {
  const rowsOf = async (chains: readonly string[]) => {
    const rows = [];
    for (let begin = 0; begin < chains.length; begin += AT_ONCE) {
      const some = chains.slice(begin, begin + AT_ONCE);
      rows.push(...(await Promise.all(some.map((chain) => wholeChain(ledger, chain)))).flat());
    }
    return rows;
  };
  return {
    page: async (after) => {
      if (after === undefined) return { rows: await rowsOf(activity), next: positionAt(fromMs) };
      const position: OutcomePosition = after;
      const readEndMs = Math.min(untilMs, timeOf(position) + LONGEST_READ_MS);
      const page = await outcomes.outcomesAfter(position, readEndMs, PAGE);
      const chains = new Set(
        page.outcomes.map(({ place }) =>
          'orderId' in place ? `${LedgerRow.order}${place.orderId}` : `${LedgerRow.payment}${place.paymentId}`,
        ),
      );
      const rows = await rowsOf([...chains]);
      const next = page.isLast ? positionAt(readEndMs) : page.outcomes.at(-1)?.position;
      return next === undefined || timeOf(next) >= untilMs ? { rows } : { rows, next };
    },
    chain: (chain, after) => ledger.chain(chain, after),
  };
}
