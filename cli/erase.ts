import type { Command } from 'commander';
import type { Action, ActivityDraft } from '../lambdas/activity/domain/activity.ts';
import { DynamoDbActivity, eraseDetails } from '../lambdas/activity/store/dynamodb-activity.ts';
import { eventId } from '../lambdas/events/domain/event.ts';
import { RetryableError } from '../lambdas/kernel/faults.ts';
import { systemClock, systemDigest } from '../lambdas/kernel/platform/platform.ts';
import { erasePayment } from '../lambdas/operators/use/erase-payment.ts';
import { parseOrderId } from '../lambdas/orders/ids.ts';
import { DynamoDbOrders } from '../lambdas/orders/store/dynamodb-orders.ts';
import { eraseOrder } from '../lambdas/orders/use/erase-order.ts';
import { LONGEST_ORDER_CHAIN } from '../lambdas/orders/use/order-chain.ts';
import type { Payment } from '../lambdas/payments/domain/payment.ts';
import { type ChainId, isOrderId, parsePaymentId } from '../lambdas/payments/ids.ts';
import { DynamoDbStore } from '../lambdas/payments/store/dynamodb-store.ts';
import { readChain } from '../lambdas/payments/use/payment-chain.ts';
import { DynamoDbViews } from '../lambdas/views/store/dynamodb-views.ts';
import { ProjectedEvents } from '../lambdas/views/use/projected-events.ts';
import { DynamoDbWebhooks } from '../lambdas/webhooks/store/dynamodb-webhooks.ts';
import { eraseAnswers } from '../lambdas/webhooks/use/erase-answers.ts';
import { type OpenedAuthority, requireAuthority, withAuthority } from './authority.ts';
import { type ChosenDatabase, withServer } from './database.ts';
import { CliFailure, ExitCode } from './failure.ts';
import type { Session } from './session.ts';

export function addErase(program: Command, session: Session): void {
  const group = program
    .command('erase')
    .description('erases personal data; generated/docs/retention.md lists the data that is kept');

  withServer(
    group
      .command('payment <id>')
      .description(
        'erases the personal data of a payment that has ended: its description, metadata and return URL, and the reasons of refunds, corrections and decisions',
      ),
  ).action(async (text: string, chosen: ChosenDatabase) => {
    const id = read(text, parsePaymentId, 'payment');
    const outcome = await withAuthority(session, chosen, async (opened) => {
      const { store, processed, erase } = await erasing(session, opened);
      return erasePayment({ store, processed, erase: erase('payment.erased') }, id);
    });
    const { kind } = outcome;
    if (kind === 'not_found') throw new CliFailure(ExitCode.notFound, `There is no payment ${id}.`);
    if (outcome.kind === 'unfinished') {
      const { status } = outcome;
      const why = 'its receipt and its commission may still need the metadata';
      throw new CliFailure(ExitCode.refused, `The payment ${id} is ${status}: ${why}. Erase it when it has ended.`);
    }
    if (kind === 'unpublished') {
      const why =
        'its event payment.completed is not in the Views yet, and its receipt and commission need the metadata';
      throw new CliFailure(
        ExitCode.refused,
        `The payment ${id} is not erased: ${why}. Try again in a minute. If that does not help, redrive parked events or rebuild the Views.`,
      );
    }
    session.show({ id, outcome: kind }, [kind === 'erased' ? 'Erased.' : 'The payment has no details to erase.']);
  });

  withServer(
    group
      .command('order <id>')
      .description('erases the e-mail address, the referrer and the affiliate of an order that is settled'),
  ).action(async (text: string, chosen: ChosenDatabase) => {
    const id = read(text, parseOrderId, 'order');
    const { kind } = await withAuthority(session, chosen, async (opened) => {
      const { store, orders, erase } = await erasing(session, opened);
      return eraseOrder({ orders, records: store, erase: erase('order.erased') }, id);
    });
    if (kind === 'not_found') throw new CliFailure(ExitCode.notFound, `There is no order ${id}.`);
    if (kind === 'unfinished') {
      const why = 'its e-mail, its credit or its response still needs the address';
      throw new CliFailure(ExitCode.refused, `The order ${id} is not settled: ${why}.`);
    }
    session.show({ id, outcome: kind }, ['Erased.']);
  });
}

/** @throws CliFailure as {@link requireAuthority} */
export async function erasing(session: Pick<Session, 'operator'>, opened: OpenedAuthority) {
  await requireAuthority(opened);
  const { client, tables, pacing, postgres } = opened;
  const store = postgres?.store ?? new DynamoDbStore(client, tables, pacing);
  const orders = postgres?.orders() ?? new DynamoDbOrders(client, tables, pacing, store);
  const webhooks = new DynamoDbWebhooks(client, tables, pacing);
  const activity = new DynamoDbActivity(client, tables, pacing);
  const actor = { by: 'command' as const, operator: session.operator };
  const eraseRows = (draft: ActivityDraft): Promise<boolean> =>
    postgres === undefined
      ? eraseDetails({ client, registry: tables.registry, pacing }, activity, draft)
      : postgres.erase(draft).catch(unfinished);
  const erase =
    (action: Action) =>
    async ({ id, ...chain }: Pick<Payment, 'tenantId' | 'mode'> & { readonly id: ChainId }): Promise<boolean> => {
      const isErased = await eraseRows({ chain, action, actor, about: [id], occurredAtMs: systemClock.nowMs() });
      // Erase the receivers' responses last. By then, every new delivery attempt omits the erased details, so no later
      // response can quote them.
      const transitions = isOrderId(id)
        ? await orders.listOrderTransitions(id, { afterSequence: 0, limit: LONGEST_ORDER_CHAIN })
        : ((await readChain(store, id))?.transitions ?? []);
      const events = transitions.map(({ sequence, occurredAtMs }) => ({
        eventId: eventId(systemDigest, id, sequence),
        occurredAtMs,
      }));
      await eraseAnswers({ webhooks, digest: systemDigest, activity }, chain, events);
      return isErased;
    };
  const processed = new ProjectedEvents(new DynamoDbViews(client, tables.views, pacing));
  return { store, processed, orders, erase };
}

/** Rethrows every error except `erasure_unfinished`. @throws CliFailure if copies of the erased data remain */
function unfinished(error: unknown): never {
  if (!(error instanceof RetryableError && error.code === 'erasure_unfinished')) throw error;
  throw new CliFailure(
    ExitCode.incomplete,
    'Erased in PostgreSQL, but copies in DynamoDB remain. Try again in a minute.',
  );
}

function read<Id>(text: string, parse: (text: string) => Id | undefined, what: string): Id {
  const id = parse(text);
  if (id === undefined) {
    throw new CliFailure(ExitCode.usage, `${text} is not the id of ${what === 'order' ? 'an' : 'a'} ${what}.`);
  }
  return id;
}
