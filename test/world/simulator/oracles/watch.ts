import type { Observed, Violation } from '../contract.ts';
import { checkAbilities } from './abilities.ts';
import { checkAlarms } from './alarms.ts';
import { byKey, checkAvailableProcessorIsUsed, checkErrors, checkKey, checkStored } from './answers.ts';
import { checkArchive } from './archive.ts';
import { checkRequestedAmounts } from './asked.ts';
import { checkPayment } from './books.ts';
import { checkCommissions } from './commissions.ts';
import { checkCredits } from './credits.ts';
import { checkDecisions } from './decisions.ts';
import { checkEvents } from './events.ts';
import { checkApprovals, checkEmails } from './limits.ts';
import { checkMishaps } from './mishaps.ts';
import { checkOpenObjects, OpenObjects } from './open.ts';
import { checkOrder, checkOrdersEnd, checkReceipts } from './orders.ts';
import { Overdue } from './overdue.ts';
import { checkOwners } from './owners.ts';
import { checkBooks, checkCallbacks, checkFees, checkProcessors } from './processors.ts';
import { checkRequests } from './requests.ts';
import { Seen } from './seen.ts';
import {
  checkAnswered,
  checkMessages,
  checkNothingLeft,
  checkOrderQueued,
  checkQueued,
  queuedIn,
} from './unfinished.ts';

/** Create it before the history begins. */
export class Watch {
  readonly #seen: Seen;
  readonly #overdue: Overdue;
  readonly #open = new OpenObjects();
  #unreadable = 0;

  constructor(world: Observed) {
    this.#seen = new Seen(world);
    this.#overdue = new Overdue(world);
  }

  afterStep(): readonly Violation[] {
    return this.#withoutNamed(this.#afterStep());
  }

  /** Called after all faults have ended and all work is done. */
  onceQuiet(): readonly Violation[] {
    return this.#withoutNamed(this.#onceQuiet());
  }

  /** Removes violations about chains that a recovery has named. An operator repairs these chains from the archive. */
  #withoutNamed(found: readonly Violation[]): readonly Violation[] {
    const named = this.#seen.world.restores.flatMap((restore) => restore.named);
    return found.filter(({ what, about = '' }) => !named.some((id) => about.includes(id) || what.includes(id)));
  }

  #afterStep(): readonly Violation[] {
    const { payments, orders, changed, claims, world } = this.#seen;
    const found: Violation[] = [...this.#seen.takeWrong(), ...this.#overdue.take(), ...this.#readable()];
    const queued = queuedIn(world);
    // Until their recovery, restored tables can contain parts of transactions.
    if (!world.isRestoring) {
      for (const id of changed) {
        const payment = payments.get(id);
        if (payment !== undefined) found.push(...checkPayment(id, payment), ...checkDecisions(world, id, payment));
        const order = orders.get(id);
        if (order !== undefined) found.push(...checkOrder(id, order, this.#seen));
      }
      changed.clear();
      for (const [id, chain] of payments) found.push(...checkQueued(id, chain, queued, claims));
      for (const [id, chain] of orders) found.push(...checkOrderQueued(id, chain, queued, this.#seen));
      found.push(...this.#open.afterStep(this.#seen));
    }
    found.push(
      ...checkReferences(this.#seen),
      ...checkProcessors(this.#seen),
      ...checkMessages(world),
      ...checkAbilities(this.#seen),
    );
    return found;
  }

  #onceQuiet(): readonly Violation[] {
    const seen = this.#seen;
    const found: Violation[] = [...this.#afterStep()];
    for (const [operation, answers] of seen.answers) {
      for (const answer of answers) {
        const chain = seen.payments.get(operation) ?? chainOfChange(operation, seen);
        if (chain !== undefined) found.push(...checkStored(operation, answer, chain));
      }
    }
    for (const calls of byKey(seen.world.calls).values()) found.push(...checkKey(calls, seen.answers));
    found.push(...checkOwners(seen), ...checkAvailableProcessorIsUsed(seen), ...checkErrors(seen));
    for (const [id, chain] of seen.orders) found.push(...checkOrder(id, chain, seen));
    found.push(
      ...checkBooks(seen),
      ...checkCallbacks(seen),
      ...checkFees(seen),
      ...checkNothingLeft(seen),
      ...checkOpenObjects(seen),
      ...checkAnswered(seen),
      ...checkCommissions(seen),
      ...checkOrdersEnd(seen),
      ...checkReceipts(seen),
      ...checkCredits(seen),
      ...checkAlarms(seen),
      ...checkApprovals(seen),
      ...checkEmails(seen),
      ...checkEvents(seen),
      ...checkRequests(seen),
      ...checkRequestedAmounts(seen),
      ...checkArchive(seen.world),
      ...checkMishaps(seen),
    );
    return found;
  }

  #readable(): readonly Violation[] {
    const { unreadable } = this.#seen.world.database;
    const found = unreadable.slice(this.#unreadable);
    this.#unreadable = unreadable.length;
    return found.map((what) => ({ oracle: 'every row is readable', what }));
  }
}

/** Returns the chain of the payment whose id is part of the change's id. */
function chainOfChange(operation: string, { payments }: Seen): ReturnType<Seen['payments']['get']> {
  const letters = /^(?:ref|cap|can)_([a-z2-7]{32})/.exec(operation)?.[1];
  return letters === undefined ? undefined : payments.get(`pay_${letters}`);
}

/** Failed and canceled payments do not count. */
function checkReferences({ payments }: Seen): readonly Violation[] {
  const holders = new Map<string, string>();
  const found: Violation[] = [];
  for (const [id, chain] of payments) {
    const payment = chain.at(-1)?.row.payment;
    if (payment?.reference === undefined || payment.status === 'failed' || payment.status === 'canceled') continue;
    const name = JSON.stringify([payment.tenantId, payment.mode, payment.reference]);
    const holder = holders.get(name);
    if (holder !== undefined)
      found.push({ oracle: 'one payment of a reference', what: `${holder} and ${id}`, about: name });
    holders.set(name, id);
  }
  return found;
}
