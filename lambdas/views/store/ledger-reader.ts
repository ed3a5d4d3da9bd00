import type { DynamoDBDocumentClient, QueryCommandInput, ScanCommandInput } from '@aws-sdk/lib-dynamodb';
import { QueryCommand, ScanCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { KeyAttribute } from '../../kernel/contract/tables.ts';
import { RetryableError } from '../../kernel/faults.ts';
import type { PaymentId, TenantId } from '../../kernel/ids.ts';
import { type Pacing, readWithRetries } from '../../kernel/platform/attempts.ts';
import { type Item } from '../../kernel/platform/items.ts';
import { TRANSITION_TYPES } from '../../payments/domain/payment.ts';
import { ACCOUNTS } from '../../payments/domain/posting.ts';
import { paymentPartition } from '../../payments/store/items.ts';
import type { Balance, BooksOwner, EntryQuery, LedgerEntry, LedgerReader } from '../use/ledger-reader.ts';
import { balancesOf, entriesOf, type LedgerRow } from './ledger-rows.ts';

/**
 * A page is a megabyte of rows, some thousand transitions, and takes about a tenth of a second: all of them are read well
 * within the 20 s that a request has.
 */
const MAX_PAGES = 64;

const row = z.object({
  sequence: z.int().min(1),
  type: z.enum(TRANSITION_TYPES),
  occurredAtMs: z.int(),
  payment: z.object({
    id: z.string().transform((id) => id as PaymentId),
    tenantId: z.string().transform((id) => id as TenantId),
    mode: z.enum(['test', 'live']),
  }),
  postings: z.array(
    z.object({
      account: z.enum(ACCOUNTS),
      direction: z.enum(['debit', 'credit']),
      amountMinor: z.int().min(1),
      currency: z.string(),
    }),
  ),
}) satisfies z.ZodType<LedgerRow>;

const NAMES = {
  '#payment': 'payment',
  '#id': 'id',
  '#tenant': 'tenantId',
  '#mode': 'mode',
  '#sequence': 'sequence',
  '#type': 'type',
  '#at': 'occurredAtMs',
  '#postings': 'postings',
};
const NEEDED = '#payment.#id, #payment.#tenant, #payment.#mode, #sequence, #type, #at, #postings';
/** Orders' rows hold no payment: no filter lets them in. */
const OWNED = '#payment.#tenant = :tenant AND #payment.#mode = :mode';

interface Page {
  readonly Items?: readonly Item[] | undefined;
  readonly LastEvaluatedKey?: Item | undefined;
}

export interface ReadBounds {
  /** @default 64 */
  readonly pages?: number;
  /** How many rows a page has at most. @default as many as a megabyte holds */
  readonly rowsPerPage?: number;
}

/**
 * Reads the Ledger itself: one payment by its partition, everything else by walking through all rows, which is for
 * ledgers that are still small (decision 0010). Every read is consistent, and filtered by tenant and mode.
 */
export class DynamoDbLedgerReader implements LedgerReader {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;
  readonly #pacing: Pacing;
  readonly #bounds: ReadBounds;

  constructor(client: DynamoDBDocumentClient, ledgerTable: string, pacing: Pacing, bounds: ReadBounds = {}) {
    this.#client = client;
    this.#table = ledgerTable;
    this.#pacing = pacing;
    this.#bounds = bounds;
  }

  async entries(query: EntryQuery): Promise<readonly LedgerEntry[]> {
    const { paymentId } = query;
    return entriesOf(await (paymentId === undefined ? this.#scan(query) : this.#query(paymentId, query)), query);
  }

  async balances(owner: BooksOwner): Promise<readonly Balance[]> {
    return balancesOf(await this.#scan(owner), owner);
  }

  async #query(paymentId: PaymentId, owner: BooksOwner): Promise<readonly LedgerRow[]> {
    const input: QueryCommandInput = {
      ...this.#base(OWNED, owner),
      KeyConditionExpression: '#pk = :pk',
      ExpressionAttributeNames: { ...NAMES, '#pk': KeyAttribute.partition },
      ExpressionAttributeValues: { ...ownerValues(owner), ':pk': paymentPartition(paymentId) },
    };
    return this.#pages((from) => this.#client.send(new QueryCommand({ ...input, ...from })));
  }

  async #scan(query: BooksOwner & Pick<EntryQuery, 'fromMs' | 'untilMs'>): Promise<readonly LedgerRow[]> {
    const { fromMs = 0, untilMs = Number.MAX_SAFE_INTEGER } = query;
    const base = this.#base(`${OWNED} AND #at >= :from AND #at < :until`, query);
    const input: ScanCommandInput = {
      ...base,
      ExpressionAttributeValues: { ...ownerValues(query), ':from': fromMs, ':until': untilMs },
    };
    return this.#pages((from) => this.#client.send(new ScanCommand({ ...input, ...from })));
  }

  #base(filter: string, owner: BooksOwner) {
    const { rowsPerPage } = this.#bounds;
    return {
      TableName: this.#table,
      FilterExpression: filter,
      ProjectionExpression: NEEDED,
      ExpressionAttributeNames: NAMES,
      ExpressionAttributeValues: ownerValues(owner),
      ConsistentRead: true,
      ...(rowsPerPage === undefined ? {} : { Limit: rowsPerPage }),
    };
  }

  /** A transition is one row, so what is read meanwhile may be older or newer, but is always in balance. */
  async #pages(read: (from: { ExclusiveStartKey?: Item }) => Promise<Page>): Promise<readonly LedgerRow[]> {
    const rows: LedgerRow[] = [];
    let from: { ExclusiveStartKey?: Item } = {};
    for (let page = 0; page < (this.#bounds.pages ?? MAX_PAGES); page += 1) {
      const { Items = [], LastEvaluatedKey } = await readWithRetries(this.#pacing, () => read(from));
      rows.push(...Items.map((item) => row.parse(item)));
      if (LastEvaluatedKey === undefined) return rows;
      from = { ExclusiveStartKey: LastEvaluatedKey };
    }
    throw new RetryableError('ledger_too_large', 'the Ledger has more rows than one request may read');
  }
}

function ownerValues({ tenantId, mode }: BooksOwner): Record<string, unknown> {
  return { ':tenant': tenantId, ':mode': mode };
}
