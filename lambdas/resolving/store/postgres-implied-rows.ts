import type { PaymentId } from '../../kernel/ids.ts';
import type { Queued } from '../../payments/store/postgres-rows.ts';
import { queueIfAbsentStatement, selectReference } from '../../payments/store/postgres-statements.ts';
import { type PostgresTools, readRows, writeIf } from '../../postgres/attempts.ts';
import type { Statement } from '../../postgres/database.ts';
import type { ImpliedRow, ImpliedRows } from '../use/rebuild-queues.ts';

type ImpliedReference = Extract<ImpliedRow, { readonly kind: 'reference' }>['row'];

const PUT_REFERENCE = `INSERT INTO reference (tenant_id, mode, reference, payment_id) VALUES ($1, $2, $3, $4)
  ON CONFLICT (tenant_id, mode, reference) DO UPDATE SET payment_id = EXCLUDED.payment_id
  WHERE reference.payment_id = $5
  RETURNING payment_id`;

/** Used only by operators' commands. */
export class PostgresImpliedRows implements ImpliedRows {
  readonly #tools: PostgresTools;

  constructor(tools: PostgresTools) {
    this.#tools = tools;
  }

  async putMissing(implied: ImpliedRow, isEnded: (holder: PaymentId) => Promise<boolean>): Promise<boolean> {
    if (implied.kind !== 'reference') return this.#write(queueIfAbsentStatement(queuedOf(implied)));
    const { row } = implied;
    if (await this.#write(putReference(row))) return true;
    const [found] = await readRows(this.#tools, selectReference(row));
    const holder = found?.['payment_id'] as PaymentId | undefined;
    if (holder === undefined || holder === row.paymentId || !(await isEnded(holder))) return false;
    return this.#write(putReference(row, holder));
  }

  async #write(statement: Statement): Promise<boolean> {
    return (await writeIf(this.#tools, statement)).kind === 'applied';
  }
}

/**
 * @param replaced the payment whose reference row may be replaced
 * @default the write has no effect if any payment has the reference
 */
function putReference({ tenantId, mode, reference, paymentId }: ImpliedReference, replaced?: PaymentId): Statement {
  const values = [tenantId, mode, reference, paymentId, replaced ?? null];
  return { name: 'reference-put', text: PUT_REFERENCE, values };
}

function queuedOf({ kind, row }: Exclude<ImpliedRow, { readonly kind: 'reference' }>): Queued {
  switch (kind) {
    case 'inquiry':
      return { inquiries: [row] };
    case 'return':
      return { toReturn: [row] };
    case 'hold':
      return { hold: row };
    case 'open_order':
      return { reopened: row };
  }
}
