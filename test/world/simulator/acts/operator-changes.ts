/** Acts by which operators capture, cancel and refund payments of tenants. */
import { type Act, act, hasHold, hasMoney, waitsForPayer } from './act.ts';
import { approvalSteps } from './approvals.ts';
import { CAN, type Change, changeRequest, part } from './merchants.ts';
import { ask, endOf } from './objects.ts';

interface OperatorChange extends Change {
  readonly change: keyof typeof CAN;
  /** Concurrent requests with the same idempotency key. */
  readonly copies: number;
  /** Whether the merchant requests the same change at the same time, under a different idempotency key. */
  readonly rival?: true;
}

const operatorChange = act<OperatorChange>({
  name: 'operator_change',
  actor: 'operator',
  feature: 'operator_changes',
  about: 'payment',
  weight: 10,
  delay: ['seconds', 'minutes', 'hours', 'days'],
  draw: (drawing) => {
    const { dice } = drawing;
    const isHeld = hasHold(drawing) || waitsForPayer(drawing);
    if (!isHeld && !hasMoney(drawing)) return undefined;
    const change = isHeld ? dice.pick(['capture', 'capture', 'cancel'] as const) : 'refund';
    return {
      change,
      ...(change === 'cancel' || dice.chance(0.5) ? {} : { amount: part(drawing) }),
      copies: dice.chance(0.3) ? 2 : 1,
      ...(dice.chance(0.3) ? { rival: true } : {}),
    };
  },
  leadsTo: (drawing, { id }) => [
    ...approvalSteps(drawing),
    ...(drawing.dice.chance(0.4)
      ? [{ act: 'retry', delay: ['instant', 'minutes', 'hours', 'days'], given: { of: id, changed: false } } as const]
      : []),
  ],
  play: async (scene, step) => {
    const asked = changeRequest(scene, step, CAN[step.change]);
    if (asked === undefined) return 'nothing';
    const body = { ...asked.body, reason: 'Asked by phone' };
    const [first] = await Promise.all([
      ...Array.from({ length: step.copies }, () => ask(scene, step, { ...asked, body, as: 'operator' })),
      ...(step.rival ? [ask(scene, step, { ...asked, path: asked.path.replace('/admin', '') })] : []),
    ]);
    return first === undefined ? 'nothing' : endOf(first);
  },
  describe: ({ of, change, amount, copies, rival }, { name, money }) =>
    `an operator requests a ${change === 'cancel' ? 'cancellation' : change} of ` +
    `${amount === undefined ? '' : `${money(amount, of)} of `}${name(of)}` +
    `${copies > 1 ? `, with ${copies} concurrent requests` : ''}${rival ? ', and so does the merchant at the same time' : ''}`,
});

export const OPERATOR_CHANGE_ACTS: readonly Act[] = [operatorChange];
