/** Oracle: Payonce sends only changes that the processor supports. */
import type { Violation } from '../contract.ts';
import { chargesOf } from './money.ts';
import type { Seen } from './seen.ts';

const ORACLE = 'only supported changes are sent';

/** Checked after every step. */
export function checkAbilities({ world, payments }: Seen): readonly Violation[] {
  const missing = new Set(world.settings.without?.split(','));
  if (missing.size === 0) return [];
  const found: Violation[] = [];
  const check = (ability: string, isUsed: boolean, what: string, about: string): void => {
    if (missing.has(ability) && isUsed) found.push({ oracle: ORACLE, what, about });
  };
  for (const [id, [first]] of payments)
    check('holds', first?.row.payment.capture === 'manual', 'a hold was requested', id);
  for (const { kind, paymentId, chargeId, amountMinor, atMs } of Object.values(world.processors).flatMap(
    ({ inside }) => inside.sent,
  )) {
    const chain = payments.get(paymentId) ?? [];
    const what = `a ${kind} of ${amountMinor} was sent`;
    if (kind === 'capture') {
      const wholeMinor = chain[0]?.row.payment.amountMinor ?? amountMinor;
      check('partial-captures', amountMinor < wholeMinor, `${what}, of ${wholeMinor}`, paymentId);
    }
    if (kind !== 'refund') continue;
    check('refunds', true, what, paymentId);
    const known = chargesOf(chain.filter((each) => each.atMs <= atMs)).get(chargeId ?? '');
    const wholeMinor = known?.capturedMinor ?? amountMinor;
    check('partial-refunds', amountMinor < wholeMinor, `${what}, of ${wholeMinor}`, paymentId);
  }
  return found;
}
