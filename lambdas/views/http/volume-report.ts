import * as z from 'zod';
import { type Call, found, type Handled, refusal } from '../../http/authenticated-api.ts';
import { problem } from '../../http/problems.ts';
import { day, dayText } from '../../http/range-filters.ts';
import { validateQuery } from '../../http/validate.ts';
import { defined } from '../../kernel/defined.ts';
import { TerminalError } from '../../kernel/faults.ts';
import { currency } from '../../payments/http/payment-objects.ts';
import { DAY_MS } from '../domain/views.ts';
import { type DayVolume, readVolumes } from '../use/read-volumes.ts';
import type { ViewStore } from '../use/view-store.ts';

/** Maximum range: a quarter. With ten currencies, about ten thousand rows, below a megabyte. Days. */
const MAX_DAYS = 92;

/** The API documents are generated from this schema. */
export const volumesQuery = z
  .strictObject({
    from: day('The first day, in UTC.'),
    to: day(`The last day, in UTC: at most ${MAX_DAYS} days with \`from\`.`),
    currency: currency.optional().meta({ description: 'Only volumes in this currency.' }),
  })
  .superRefine(({ from, to }, context) => {
    const days = (to.untilMs - from.fromMs) / DAY_MS;
    if (days >= 1 && days <= MAX_DAYS) return;
    const message = days < 1 ? 'must not be before from' : `must be at most ${MAX_DAYS - 1} days after from`;
    context.addIssue({ code: 'custom', path: ['to'], message });
  });

export interface ReadVolumesTools {
  readonly views: Pick<ViewStore, 'range'>;
}

export async function showVolumes({ tools, caller, request }: Call<ReadVolumesTools>): Promise<Handled> {
  const query = validateQuery(volumesQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const { from, to, currency: only } = query.value;
  const days = { fromMs: from.fromMs, untilMs: to.untilMs };
  try {
    const volumes = await readVolumes(tools.views, caller, {
      ...days,
      ...defined({ currency: only }),
    });
    return found({ object: 'list', data: volumes.map(volumeObject), has_more: false });
  } catch (error) {
    if (!(error instanceof TerminalError) || error.code !== 'balance_too_large') throw error;
    // Retrying cannot help.
    const detail = 'A sum is beyond 2^53 - 1 and would lose digits as a JSON number. Add up the events instead.';
    return refusal(problem('balance_too_large', detail), request);
  }
}

/** Renders one volume. Amounts are in minor units. */
function volumeObject({ dayMs, currency: code, type, count, amountMinor }: DayVolume): Record<string, unknown> {
  return { object: 'volume', date: dayText(dayMs), currency: code, outcome: type, count, amount: amountMinor };
}
