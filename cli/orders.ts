import type { Command } from 'commander';
import * as z from 'zod';
import { shownAmount } from '../lambdas/kernel/currency.ts';
import { defined } from '../lambdas/kernel/defined.ts';
import { addAccess, askerOf, readAnswer, TENANT } from './operator-api.ts';
import { isoTime, readCountOf, type Session, table } from './session.ts';

const MAX = 100;

interface Filters {
  readonly status?: string;
  readonly most: number;
}

const order = z.object({ id: z.string(), status: z.string(), amount: z.int(), currency: z.string(), created: z.int() });
const orderList = z.object({ data: z.array(order) });

/** `payonce orders`. */
export function addOrders(program: Command, session: Session): void {
  const orders = program.command('orders').description('lists and shows the orders of a tenant');
  addAccess(orders, TENANT);
  const ask = askerOf(session, orders, TENANT);
  const lines = (found: readonly z.infer<typeof order>[]): readonly string[] =>
    found.length === 0
      ? ['No orders.']
      : table(
          ['ORDER', 'STATUS', 'AMOUNT', 'CREATED'],
          found.map(({ id, status, amount, currency, created }) => [
            id,
            status,
            shownAmount(amount, currency),
            isoTime(created * 1000),
          ]),
        );

  orders
    .command('list')
    .description('lists orders, newest first')
    .option('--status <status>', 'only those in this status, for example needs_review')
    .option('--most <n>', `how many, 1 to ${MAX}`, readCountOf(MAX), 20)
    .action(async ({ status, most }: Filters) => {
      const query = new URLSearchParams({ limit: String(most), ...defined({ status }) });
      const document = await ask('GET', `/v1/orders?${query.toString()}`);
      session.show(document, lines(readAnswer(orderList, document).data));
    });

  orders
    .command('show <id>')
    .description('shows the current state of an order')
    .action(async (id: string) => {
      const document = await ask('GET', `/v1/orders/${encodeURIComponent(id)}`);
      session.show(document, lines([readAnswer(order, document)]));
    });
}
