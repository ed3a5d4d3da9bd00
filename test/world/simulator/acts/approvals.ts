import { RegistryRow } from '../../../../lambdas/kernel/contract/rows.ts';
import type { Approval } from '../../../../lambdas/operators/domain/approval.ts';
import { parseApproval } from '../../../../lambdas/operators/store/approval-items.ts';
import type { OperatorName } from '../contract.ts';
import { type Act, type Arguments, act, type Draft, type Drawing, type Scene } from './act.ts';
import { ask, endOf, keyOf, paymentOf } from './objects.ts';

const VERDICTS = ['approve', 'reject'] as const;

interface Verdict extends Arguments {
  readonly verdict: (typeof VERDICTS)[number];
  readonly by: OperatorName;
  /** Second verdict, which is sent at the same time. */
  readonly rival?: (typeof VERDICTS)[number];
  /** @default the person who gives the first verdict */
  readonly rivalBy?: 'second_approver';
  /** Whether the verdict is given even if the request has expired. */
  readonly late?: true;
}

const verdict = act<Verdict>({
  name: 'verdict',
  actor: 'operator',
  feature: 'approvals',
  about: 'payment',
  weight: 3,
  delay: ['minutes', 'hours', 'days'],
  draw: ({ dice, has }) =>
    has('approvals')
      ? {
          verdict: dice.weighted(VERDICTS, (each) => (each === 'approve' ? 4 : 1)),
          by: dice.weighted(['approver', 'operator', 'operator_again'], (each) => (each === 'approver' ? 6 : 1)),
          ...(dice.chance(0.3)
            ? {
                rival: dice.pick(VERDICTS),
                ...(dice.named('rival by').chance(0.5) ? { rivalBy: 'second_approver' } : {}),
              }
            : {}),
          ...(dice.chance(0.2) ? { late: true } : {}),
        }
      : undefined,
  play: async (scene, step) => {
    const approval = waiting(scene, step) ?? (await requestApproval(scene, step));
    if (approval === undefined) return 'nothing';
    const { verdict: own, by, rival, rivalBy = by } = step;
    const give = (each: string, as: OperatorName) =>
      ask(scene, step, { method: 'POST', path: `/v1/admin/approvals/${approval.id}/${each}`, body: {}, as });
    const [first] = await Promise.all([give(own, by), ...(rival === undefined ? [] : [give(rival, rivalBy)])]);
    return first === undefined ? 'nothing' : endOf(first);
  },
  describe: ({ of, verdict: first, by, rival, rivalBy }, { name }) => {
    const person: Readonly<Record<OperatorName, string>> = {
      approver: 'another operator',
      second_approver: 'a third operator',
      operator: 'the same operator',
      operator_again: 'the same operator',
    };
    return (
      `${person[by]} ${first}s the request for ${name(of)}${by === 'operator_again' ? ', with a different key' : ''}` +
      (rival === undefined
        ? ''
        : `, and ${rivalBy === undefined ? '' : `${person[rivalBy]} `}${rival}s it at the same time`)
    );
  },
});

type Waiting = ReturnType<typeof parseApproval>;

/** Prefers a request about the step's payment. */
function waiting(
  scene: Scene,
  step: Arguments & { readonly id: number; readonly late?: true } & Parameters<typeof paymentOf>[1],
): Waiting | undefined {
  const { system } = scene;
  const all = system.database.items(system.tables.registry, RegistryRow.approvals).map(parseApproval);
  const open = all.filter(({ end, expiresAtMs }) => end === undefined && (step.late || expiresAtMs > system.nowMs));
  const paymentId = paymentOf(scene, step);
  return open.find((each: Pick<Approval, 'paymentId'>) => each.paymentId === paymentId) ?? open[0];
}

/** Requests a correction above the limit. */
async function requestApproval(scene: Scene, step: Parameters<typeof waiting>[1]): Promise<Waiting | undefined> {
  const payment = paymentOf(scene, step);
  const { approvals } = scene.system.settings;
  if (payment === undefined || approvals === undefined) return undefined;
  const amount = approvals.aboveMinor + 1;
  const postings = [
    { account: 'merchant_payable', direction: 'debit', amount },
    { account: 'corrections', direction: 'credit', amount },
  ];
  const body = { payment, postings, reason: 'Booked twice' };
  const request = { method: 'POST', path: '/v1/admin/corrections', key: `${keyOf(step)}-asked`, body } as const;
  await ask(scene, step, { ...request, as: 'operator' });
  return waiting(scene, step);
}

export function approvalSteps(drawing: Drawing): readonly Draft[] {
  const { dice, has } = drawing;
  const given = verdict.draw(drawing);
  if (!has('approvals') || given === undefined || !dice.chance(0.8)) return [];
  const between = dice.pick([
    { act: 'refund', given: { amount: 100 } },
    { act: 'foreign_refund', given: { amount: 100, begins: 'succeeded' } },
    { act: 'dispute', given: { amount: 0 } },
  ] as const);
  return [
    ...(dice.chance(0.3) ? [{ ...between, delay: ['seconds', 'minutes'] } as const] : []),
    { act: verdict.name, delay: ['minutes', 'hours', 'days'], given },
  ];
}

const HOUR_MS = 3_600_000;

interface Limits extends Arguments {
  readonly aboveMinor?: number;
  readonly hours?: number;
  readonly emails?: number;
}

const limits = act<Limits>({
  name: 'limits',
  actor: 'operator',
  about: 'nothing',
  weight: 0,
  delay: ['instant'],
  draw: ({ dice, has }) => ({
    ...(has('approvals') ? { aboveMinor: dice.pick([0, 500, 1000]), hours: dice.pick([2, 72]) } : {}),
    ...(has('mail_cap') ? { emails: dice.pick([1, 2]) } : {}),
  }),
  play: async ({ system }, { aboveMinor, hours = 72, emails }) => {
    system.deploy({
      ...(aboveMinor === undefined ? {} : { approvals: { aboveMinor, lifetimeMs: hours * HOUR_MS } }),
      ...(emails === undefined ? {} : { emailsADay: emails }),
    });
    return 'done';
  },
  describe: ({ aboveMinor, hours, emails }, { money }) =>
    [
      'from here on',
      ...(aboveMinor === undefined
        ? []
        : [`operators’ requests above ${money(aboveMinor, undefined)} wait up to ${hours} h for approval`]),
      ...(emails === undefined ? [] : [`a recipient gets at most ${emails} e-mails a day`]),
    ].join(', '),
});

export const APPROVAL_ACTS: readonly Act[] = [limits, verdict];
