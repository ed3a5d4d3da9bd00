import type { Charge } from '../lambdas/processors/sandbox/sandbox-api.ts';
import { outcomePage, plainPage, questionPage } from './action-page.ts';
import { change } from './changing.ts';
import { end, wasRefused } from './charge.ts';
import type { Reply } from './reply.ts';
import type { SandboxWorld } from './world.ts';

export type PayersDecision = 'approve' | 'refuse';

/** The payer's decision, or `withdrawn` if the charge was voided or expired before the payer decided. */
type Outcome = PayersDecision | 'withdrawn';

const TITLES = {
  approve: 'You approved this payment',
  refuse: 'You refused this payment',
  withdrawn: 'This payment was canceled',
} as const;

export async function askPayer(world: SandboxWorld, chargeId: string): Promise<Reply> {
  const charge = (await world.books.charge(chargeId))?.charge;
  const asked = charge && (await questionOf(world, charge));
  if (charge === undefined || asked === undefined) {
    return nothingToDecide();
  }
  return asked === 'open' ? questionPage(charge) : outcomePage(200, TITLES[asked], charge);
}

/**
 * The first decision is final. If two decisions are sent concurrently, both requests get the result of the first one.
 */
export async function decideAction(world: SandboxWorld, chargeId: string, decision: PayersDecision): Promise<Reply> {
  const before = (await world.books.charge(chargeId))?.charge;
  if (before === undefined || (await questionOf(world, before)) === undefined) {
    return nothingToDecide();
  }
  const outcome = await change(world, chargeId, (charge) =>
    charge.status === 'requires_action'
      ? end(charge, decision === 'approve' ? 'succeed' : 'refuse')
      : { kind: 'unchanged', answer: { status: 200, body: charge } },
  );
  if (outcome.kind === 'busy') {
    return plainPage(409, 'Please try again', 'Other requests are changing this payment. Nothing was done.');
  }
  const after = (await world.books.charge(chargeId))?.charge ?? before;
  const became = await questionOf(world, after);
  if (became === undefined || became === 'open') {
    throw new Error(`the payer's decision about the charge ${chargeId} was not stored`);
  }
  return became === decision
    ? outcomePage(200, TITLES[became], after)
    : outcomePage(409, `${TITLES[became]} before`, after);
}

/**
 * Undefined if the charge never required a decision. The status shows neither that an action was required, nor that a
 * voided charge had been approved.
 */
async function questionOf(world: SandboxWorld, charge: Charge): Promise<Outcome | 'open' | undefined> {
  const events = await world.books.eventsOfCharge(charge.id);
  const types = new Set(events.map(({ event }) => event.type));
  if (!types.has('charge.requires_action')) {
    return undefined;
  }
  if (charge.status === 'requires_action') {
    return 'open';
  }
  if (wasRefused(charge)) {
    return 'refuse';
  }
  return charge.status === 'voided' && !types.has('charge.authorized') ? 'withdrawn' : 'approve';
}

function nothingToDecide(): Promise<Reply> {
  return plainPage(404, 'Nothing to decide here', 'No payment is waiting for a decision at this address.');
}
