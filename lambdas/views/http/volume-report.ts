import * as z from 'zod';
import { found, type Handled, refusal } from '../../http/authenticated-api.ts';
import { type ReadingCall, reading } from '../../http/endpoint.ts';
import { problem } from '../../http/problems.ts';
import { currencyFilter, day, dayText } from '../../http/range-filters.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import { defined } from '../../kernel/defined.ts';
import { TerminalError } from '../../kernel/faults.ts';
import { DAY_MS } from '../domain/views.ts';
import { type DayVolume, readVolumes } from '../use/read-volumes.ts';
import type { ViewStore } from '../use/view-store.ts';
import { volumeList } from './list-answers.ts';

/**
 * Maximum range of a report, in days (a quarter). With ten currencies, the report contains about ten thousand volumes,
 * less than a megabyte.
 */
const MAX_DAYS = 92;

/** The API documentation is generated from this schema. */
const volumesQuery = z
  .strictObject({
    from: day('The first day, in UTC.'),
    to: day(`The last day, in UTC. The range can include at most ${MAX_DAYS} days.`),
    currency: currencyFilter.optional().meta({ description: 'Only volumes in this currency.' }),
  })
  .superRefine(({ from, to }, context) => {
    const days = (to.untilMs - from.fromMs) / DAY_MS;
    if (days >= 1 && days <= MAX_DAYS) return;
    const message = days < 1 ? 'must not be before from' : `must be at most ${MAX_DAYS - 1} days after from`;
    context.addIssue({ code: 'custom', path: ['to'], message });
  });

interface ReadVolumesTools {
  readonly views: Pick<ViewStore, 'range'>;
}

export const getVolumes = reading({
  path: '/v1/reports/volume',
  scope: Scopes.ledgerRead,
  role: 'viewer',
  query: volumesQuery,
  handle: showVolumes,
  docs: {
    operationId: 'getVolumes',
    tag: 'Reports',
    summary: 'Report counts and amounts by day',
    description:
      'The number of events of each type, day and currency, and the sum of their amounts: the captured amount for ' +
      '`payment.completed`, otherwise the amount of the payment, order, refund or dispute. The payment of an order has events of its ' +
      'own, so do not add outcomes of orders to outcomes of payments. The report is derived from events and lags by about a second.',
    answers: { 200: { description: 'The volumes.', schema: volumeList } },
    problems: ['balance_too_large'],
  },
});

type VolumesCall = ReadingCall<ReadVolumesTools, typeof volumesQuery>;

async function showVolumes({ tools, caller, request, query }: VolumesCall): Promise<Handled> {
  const { from, to, currency: only } = query;
  const days = { fromMs: from.fromMs, untilMs: to.untilMs };
  try {
    const volumes = await readVolumes(tools.views, caller, {
      ...days,
      ...defined({ currency: only }),
    });
    return found({ object: 'list', data: volumes.map(volumeObject), has_more: false });
  } catch (error) {
    if (!(error instanceof TerminalError) || error.code !== 'balance_too_large') throw error;
    // Refuse the request: a retry would have the same result.
    const detail = 'A sum exceeds 2^53 - 1 and would lose digits as a JSON number. Add up the events instead.';
    return refusal(problem('balance_too_large', detail), request);
  }
}

function volumeObject({ dayMs, currency: code, type, count, amountMinor }: DayVolume): Record<string, unknown> {
  return { object: 'volume', date: dayText(dayMs), currency: code, outcome: type, count, amount: amountMinor };
}
