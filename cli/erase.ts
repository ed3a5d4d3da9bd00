import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { Command } from 'commander';
import { type OrderId, type PaymentId, parseOrderId, parsePaymentId } from '../lambdas/kernel/ids.ts';
import { documentClient } from '../lambdas/kernel/platform/document-client.ts';
import { systemClock, systemEntropy } from '../lambdas/kernel/platform/platform.ts';
import { eraseDetails } from '../lambdas/once/store/details-rows.ts';
import { DynamoDbOrders } from '../lambdas/orders/store/dynamodb-orders.ts';
import { eraseOrder } from '../lambdas/orders/use/erase-order.ts';
import { DynamoDbStore } from '../lambdas/payments/store/dynamodb-store.ts';
import { erasePayment } from '../lambdas/payments/use/erase-payment.ts';
import { stackOutputs } from './deployment.ts';
import { CliFailure, ExitCode } from './failure.ts';
import type { Session } from './session.ts';

/** `payonce erase`. */
export function addErase(program: Command, session: Session): void {
  const group = program
    .command('erase')
    .description('erases personal data; what is kept is listed in docs/retention.md');

  group
    .command('payment <id>')
    .description('erases the description and the metadata of a payment that has ended')
    .action(async (text: string) => {
      const id = read(text, parsePaymentId, 'payment');
      const outcome = await erasePayment(await deployment(session), id);
      const { kind } = outcome;
      if (kind === 'not_found') throw new CliFailure(ExitCode.notFound, `There is no payment ${id}.`);
      if (outcome.kind === 'unfinished') {
        const { status } = outcome;
        const why = 'its receipt and its commission may still need the metadata';
        throw new CliFailure(ExitCode.refused, `The payment ${id} is ${status}: ${why}. Erase it when it has ended.`);
      }
      session.show({ id, outcome: kind }, [kind === 'erased' ? 'Erased.' : 'The payment has no details to erase.']);
    });

  group
    .command('order <id>')
    .description('erases the e-mail address and the referrer of an order that is settled')
    .action(async (text: string) => {
      const id = read(text, parseOrderId, 'order');
      const { store, orders, erase } = await deployment(session);
      const { kind } = await eraseOrder({ orders, records: store, erase }, id);
      if (kind === 'not_found') throw new CliFailure(ExitCode.notFound, `There is no order ${id}.`);
      if (kind === 'unfinished') {
        const why = 'its e-mail, its credit or its answer still needs the address';
        throw new CliFailure(ExitCode.refused, `The order ${id} is not settled: ${why}.`);
      }
      session.show({ id, outcome: kind }, ['Erased.']);
    });
}

async function deployment(session: Session) {
  const target = await session.aws();
  const [idempotency, ledger, registry] = await stackOutputs(target, 'data', [
    'idempotencyTable',
    'ledgerTable',
    'registryTable',
  ]);
  const client = documentClient(new DynamoDBClient({ ...target, maxAttempts: 1 }));
  const pacing = { clock: systemClock, entropy: systemEntropy };
  const tables = { idempotency, ledger, registry };
  const store = new DynamoDbStore(client, tables, pacing);
  return {
    store,
    orders: new DynamoDbOrders(client, tables, pacing, store),
    erase: (id: PaymentId | OrderId) => eraseDetails({ client, registry, pacing }, id),
  };
}

function read<Id>(text: string, parse: (text: string) => Id | undefined, what: string): Id {
  const id = parse(text);
  if (id === undefined) {
    throw new CliFailure(ExitCode.usage, `${text} is not the id of ${what === 'order' ? 'an' : 'a'} ${what}.`);
  }
  return id;
}
