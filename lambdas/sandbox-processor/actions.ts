import type { Charge } from '../contract/sandbox-api.ts';
import { outcomePage, plainPage, questionPage } from './action-page.ts';
import { change } from './changing.ts';
import { end, payersDecision } from './charge.ts';
import type { Reply } from './reply.ts';
import type { SandboxWorld } from './world.ts';

export type PayersDecision = 'approve' | 'refuse';

const TITLES = { approve: 'You approved this payment', refuse: 'You refused this payment' } as const;

/** GET /actions/{charge id} */
export async function askPayer(world: SandboxWorld, chargeId: string): Promise<Reply> {
  const charge = (await world.books.charge(chargeId))?.charge;
  if (charge === undefined || !(await wasAsked(world, charge))) {
    return nothingToDecide();
  }
  return charge.status === 'requires_action'
    ? questionPage(charge)
    : outcomePage(200, TITLES[payersDecision(charge)], charge);
}

/** POST /actions/{charge id}: the first decision holds. Of two at once, one is decided on what the other left. */
export async function decideAction(world: SandboxWorld, chargeId: string, decision: PayersDecision): Promise<Reply> {
  const before = (await world.books.charge(chargeId))?.charge;
  if (before === undefined || !(await wasAsked(world, before))) {
    return nothingToDecide();
  }
  const outcome = await change(world, chargeId, (charge) =>
    charge.status === 'requires_action'
      ? end(charge, decision === 'approve' ? 'succeed' : 'refuse')
      : { kind: 'unchanged', answer: { status: 200, body: charge } },
  );
  if (outcome.kind === 'busy') {
    return plainPage(409, 'Please try again', 'Others are changing this payment; nothing was done.');
  }
  const after = (await world.books.charge(chargeId))?.charge ?? before;
  const decided = payersDecision(after);
  return decided === decision
    ? outcomePage(200, TITLES[decided], after)
    : outcomePage(409, `${TITLES[decided]} before`, after);
}

/** Whether the payer was ever asked: the charge's events remember it when its status no longer does. */
async function wasAsked(world: SandboxWorld, charge: Charge): Promise<boolean> {
  const events = await world.books.eventsOfCharge(charge.id);
  return events.some(({ event }) => event.type === 'charge.requires_action');
}

function nothingToDecide(): Promise<Reply> {
  return plainPage(404, 'Nothing to decide here', 'No payment waits for a decision at this address.');
}
