import {
  type AttributeValue,
  ConditionalCheckFailedException,
  type ConsumedCapacity,
  DescribeTimeToLiveCommand,
  DynamoDBServiceException,
  IdempotentParameterMismatchException,
  ResourceNotFoundException,
  TransactionCanceledException,
} from '@aws-sdk/client-dynamodb';
import {
  BatchGetCommand,
  type BatchGetCommandInput,
  BatchWriteCommand,
  type BatchWriteCommandInput,
  DeleteCommand,
  DynamoDBDocumentClient,
  GetCommand,
  type GetCommandInput,
  PutCommand,
  QueryCommand,
  type QueryCommandInput,
  ScanCommand,
  TransactWriteCommand,
  type TransactWriteCommandInput,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import { ExpressionError, nameOf, parseProjection } from './dynamodb-expressions.ts';
import { readPage } from './dynamodb-reads.ts';
import {
  KILOBYTE,
  keyOf,
  knownFieldsOnly,
  placeholdersOf,
  projected,
  readUnits,
  UnreadableRowError,
  unitsOf,
  ValidationError,
} from './dynamodb-requests.ts';
import { equalValues, type Item } from './dynamodb-values.ts';
import { type Planned, planWrite, type WriteInput, type WriteKind } from './dynamodb-writes.ts';
import { MemoryTable, type Row, type TableShape } from './memory-table.ts';

const MAX_TRANSACTION_ITEMS = 100;
const MAX_TRANSACTION_BYTES = 4 * KILOBYTE * KILOBYTE;
const MAX_BATCH_KEYS = 100;
/** Maximum number of puts of BatchWriteItem (Amazon DynamoDB API reference, "BatchWriteItem"). */
const MAX_BATCH_WRITES = 25;
const MAX_BATCH_BYTES = 16 * KILOBYTE * KILOBYTE;
/**
 * Time for which DynamoDB remembers a client request token, in milliseconds (Amazon DynamoDB API reference,
 * "TransactWriteItems").
 */
const TOKEN_KNOWN_MS = 10 * 60_000;
const CUT = 'the tables are restored';
const ANSWERED_400 = { httpStatusCode: 400 };

export interface RowChange {
  readonly table: string;
  readonly before?: Item;
  readonly after?: Item;
}

export interface MemoryDynamoDbOptions {
  readonly tables: readonly TableShape[];
  /** In Unix milliseconds, for the expiry of rows and of client request tokens. @default always 0 */
  readonly nowMs?: () => number;
  /**
   * Maximum size of the data that one query or scan reads, in bytes.
   *
   * @default 1 MB, as in DynamoDB
   */
  readonly pageBytes?: number;
}

export type Around = <Result>(command: string, apply: () => Promise<Result>, sent: object) => Promise<Result>;

/**
 * In-memory DynamoDB, which the production stores use through the document client. Expressions, conditions,
 * transactions, limits and errors follow DynamoDB. Each request is one atomic step, and stored values are copies.
 * Before a row is stored, the production reader for its kind must accept it. The contract suite runs on this class and
 * on the DynamoDB API of the local AWS.
 */
export class MemoryDynamoDb {
  readonly client: DynamoDBDocumentClient;
  readonly unreadable: string[] = [];
  readonly #tables: ReadonlyMap<string, MemoryTable>;
  readonly #nowMs: () => number;
  readonly #pageBytes: number | undefined;
  readonly #listeners: ((changes: readonly RowChange[]) => void)[] = [];
  readonly #tokens = new Map<string, { readonly input: TransactWriteCommandInput; readonly atMs: number }>();
  #cut: ((rows: readonly RowChange[]) => readonly number[] | undefined) | undefined;
  #isCut = false;

  constructor({ tables, nowMs = () => 0, pageBytes }: MemoryDynamoDbOptions) {
    this.#tables = new Map(tables.map((shape) => [shape.name, new MemoryTable(shape)]));
    this.#nowMs = nowMs;
    this.#pageBytes = pageBytes;
    this.client = this.clientWith((_, apply) => apply());
  }

  clientWith(around: Around): DynamoDBDocumentClient {
    const send = (command: object): Promise<unknown> =>
      around(command.constructor.name, async () => this.#answer(command), command);
    return Object.create(DynamoDBDocumentClient.prototype, { send: { value: send } }) as DynamoDBDocumentClient;
  }

  /** @param listener called after each write, with the changes of that write */
  listen(listener: (changes: readonly RowChange[]) => void): void {
    this.#listeners.push(listener);
  }

  /**
   * Simulates a restore of the tables to a point in time within a transaction: only the chosen rows of the transaction
   * remain. From then on, requests get no response until {@link resume}.
   *
   * @param choose returns the indexes of the rows to keep if the restore point is in this transaction; otherwise
   * undefined
   */
  cutTransaction(choose: (rows: readonly RowChange[]) => readonly number[] | undefined): void {
    this.#cut = choose;
  }

  get isCut(): boolean {
    return this.#isCut;
  }

  resume(): void {
    this.#cut = undefined;
    this.#isCut = false;
  }

  /** Checks no conditions, and does not call the row readers. */
  replicate(changes: readonly RowChange[]): void {
    for (const { table: name, after, before } of changes) {
      const table = this.#table(name);
      const { partition, sort } = table.rowOf((after ?? before) as Item);
      table.replace(table.get(partition, sort), after === undefined ? undefined : table.rowOf(after));
    }
    this.#notify(changes);
  }

  /** Returns true if none of the values in the query is the key of a partition with rows. */
  isVoid({ TableName, IndexName, ExpressionAttributeValues = {} }: QueryCommandInput): boolean {
    const table = this.#table(TableName);
    return Object.values(ExpressionAttributeValues).every(
      (value: unknown) =>
        (typeof value !== 'string' && typeof value !== 'number') || table.partition(value, IndexName) === undefined,
    );
  }

  items(table: string, prefix = ''): readonly Item[] {
    return this.#table(table)
      .all(prefix)
      .map(({ item }) => item);
  }

  /**
   * DynamoDB's time to live deletes rows some time after their expiry.
   *
   * @returns the number of deleted rows
   */
  deleteExpired(nowMs = this.#nowMs()): number {
    let deleted = 0;
    for (const table of this.#tables.values()) {
      const attribute = table.shape.timeToLive;
      if (attribute === undefined) continue;
      for (const row of table.all()) {
        const expiresAt = row.item[attribute];
        if (typeof expiresAt !== 'number' || expiresAt * 1000 > nowMs) continue;
        table.replace(row, undefined);
        this.#notify([{ table: table.shape.name, before: row.item }]);
        deleted += 1;
      }
    }
    return deleted;
  }

  #answer(command: unknown): unknown {
    if (this.#isCut) throw Object.assign(new Error(CUT), { $metadata: { attempts: 1 } });
    try {
      if (command instanceof TransactWriteCommand) return this.#transactWrite(command.input);
      if (command instanceof QueryCommand) {
        return readPage('query', this.#table(command.input.TableName), command.input, this.#pageBytes);
      }
      if (command instanceof GetCommand) return this.#get(command.input);
      if (command instanceof UpdateCommand) return this.#write('Update', command.input);
      if (command instanceof PutCommand) return this.#write('Put', command.input);
      if (command instanceof DeleteCommand) return this.#write('Delete', command.input);
      if (command instanceof ScanCommand) {
        return readPage('scan', this.#table(command.input.TableName), command.input, this.#pageBytes);
      }
      if (command instanceof BatchGetCommand) return this.#batchGet(command.input);
      if (command instanceof BatchWriteCommand) return this.#batchWrite(command.input);
      if (command instanceof DescribeTimeToLiveCommand) return this.#describeTimeToLive(command.input.TableName);
    } catch (error) {
      if (error instanceof UnreadableRowError) this.unreadable.push(error.message);
      throw error instanceof ExpressionError || error instanceof ValidationError ? refused(error) : error;
    }
    throw new Error(`The in-memory DynamoDB does not support ${String(command?.constructor.name)}`);
  }

  #get(input: GetCommandInput): unknown {
    knownFieldsOnly('GetCommand', input);
    const table = this.#table(input.TableName);
    const key = keyOf(table.shape, input.Key);
    const row = table.get(key.partition, key.sort);
    const projection =
      input.ProjectionExpression === undefined ? undefined : parseProjection(input.ProjectionExpression);
    const placeholders = placeholdersOf(input, projection);
    const item = projected(
      row?.item,
      projection?.tree.map((name) => nameOf(name, placeholders)),
    );
    const units = () => readUnits(row?.size ?? 0, input.ConsistentRead === true);
    return {
      $metadata: {},
      ...(item === undefined ? {} : { Item: item }),
      ...capacity(input, () => [[table, { units: units() }]]),
    };
  }

  #batchGet(input: BatchGetCommandInput): unknown {
    knownFieldsOnly('BatchGetCommand', input);
    const responses: Record<string, Item[]> = {};
    const unprocessed: NonNullable<BatchGetCommandInput['RequestItems']> = {};
    const spent: [MemoryTable, Units][] = [];
    let asked = 0;
    let bytes = 0;
    for (const [name, request] of Object.entries(input.RequestItems ?? {})) {
      knownFieldsOnly('BatchGetCommand.RequestItems', request);
      const table = this.#table(name);
      const items: Item[] = [];
      const left: Record<string, unknown>[] = [];
      const seen = new Set<string>();
      let units = 0;
      for (const each of request.Keys ?? []) {
        const { partition, sort } = keyOf(table.shape, each);
        const place = JSON.stringify([partition, sort]);
        if (seen.has(place)) throw new ValidationError('Provided list of item keys contains duplicates');
        seen.add(place);
        asked += 1;
        const row = table.get(partition, sort);
        bytes += row?.size ?? 0;
        if (row !== undefined && bytes > MAX_BATCH_BYTES) left.push(each);
        else if (row !== undefined) items.push(row.item);
        units += readUnits(row?.size ?? 0, request.ConsistentRead === true);
      }
      responses[name] = items;
      spent.push([table, { units }]);
      if (left.length > 0) unprocessed[name] = { ...request, Keys: left };
    }
    if (asked === 0 || asked > MAX_BATCH_KEYS) {
      throw new ValidationError(`Too many items requested for the BatchGetItem call: ${asked}`);
    }
    return { $metadata: {}, Responses: responses, UnprocessedKeys: unprocessed, ...capacity(input, () => spent) };
  }

  /** Writes each put of a batch separately. If one of the puts is invalid, writes nothing. */
  #batchWrite(input: BatchWriteCommandInput): unknown {
    knownFieldsOnly('BatchWriteCommand', input);
    const plans = Object.entries(input.RequestItems ?? {}).flatMap(([name, requests]) =>
      (requests ?? []).map((request) => {
        knownFieldsOnly('BatchWriteCommand.RequestItems', request);
        return planWrite('Put', this.#table(name), { TableName: name, Item: request.PutRequest?.Item ?? {} });
      }),
    );
    if (plans.length === 0 || plans.length > MAX_BATCH_WRITES) {
      throw new ValidationError(`Too many items requested for the BatchWriteItem call: ${plans.length}`);
    }
    if (plans.some((plan, at) => plans.some((other, before) => before < at && isSameRow(plan, other)))) {
      throw new ValidationError('Provided list of item keys contains duplicates');
    }
    for (const plan of plans) this.#apply([plan]);
    return { $metadata: {}, UnprocessedItems: {} };
  }

  #write(kind: WriteKind, input: WriteInput): unknown {
    knownFieldsOnly(`${kind}Command`, input);
    const planned = planWrite(kind, this.#table(input.TableName), input);
    if (planned.isRefused) {
      throw conditionFailed(planned);
    }
    this.#apply([planned]);
    const attributes = returned(planned, input.ReturnValues ?? 'NONE') ?? {};
    return {
      $metadata: {},
      ...(Object.keys(attributes).length === 0 ? {} : { Attributes: attributes }),
      ...capacity(input, () => [[planned.table, unitsOf(planned, 1)]]),
    };
  }

  #transactWrite(input: TransactWriteCommandInput): unknown {
    knownFieldsOnly('TransactWriteCommand', input);
    if (this.#isRepeated(input)) return { $metadata: {} };
    const items = input.TransactItems ?? [];
    if (items.length === 0 || items.length > MAX_TRANSACTION_ITEMS) {
      throw new ValidationError(`Member must have length less than or equal to ${MAX_TRANSACTION_ITEMS}`);
    }
    const plans = items.map((item) => this.#planOne(item));
    if (plans.some((plan, at) => plans.some((other, before) => before < at && isSameRow(plan, other)))) {
      throw new ValidationError('Transaction request cannot include multiple operations on one item');
    }
    const bytes = plans.reduce((sum, { after }) => sum + (after?.size ?? 0), 0);
    if (bytes > MAX_TRANSACTION_BYTES) throw new ValidationError('Collection size of transaction exceeds 4 MB');
    if (plans.some(({ isRefused, fault }) => isRefused || fault !== undefined)) throw canceled(plans);
    const kept = this.#cut?.(plans.map(({ table, before, after }) => rowChange(table.shape.name, before, after)));
    if (kept !== undefined) {
      this.#apply(plans.filter((_, place) => kept.includes(place)));
      this.#isCut = true;
      throw Object.assign(new Error(CUT), { $metadata: { attempts: 1 } });
    }
    this.#apply(plans);
    if (input.ClientRequestToken !== undefined) {
      this.#tokens.set(input.ClientRequestToken, { input, atMs: this.#nowMs() });
    }
    return { $metadata: {}, ...capacity(input, () => plans.map((plan) => [plan.table, unitsOf(plan, 2)])) };
  }

  #planOne(item: NonNullable<TransactWriteCommandInput['TransactItems']>[number]): Planned {
    const [[kind, input] = [], ...others] = Object.entries(item);
    if (others.length > 0 || input === undefined || !isKind(kind)) {
      throw new ValidationError('TransactItems can only contain one of Check, Put, Update or Delete');
    }
    knownFieldsOnly(`TransactWriteCommand.${kind}`, input);
    return planWrite(kind, this.#table(input.TableName), input, { faultIsReason: true });
  }

  /** @throws IdempotentParameterMismatchException for a different request with this token */
  #isRepeated(input: TransactWriteCommandInput): boolean {
    for (const [token, { atMs }] of this.#tokens) {
      if (this.#nowMs() - atMs < TOKEN_KNOWN_MS) break;
      this.#tokens.delete(token);
    }
    const before = this.#tokens.get(input.ClientRequestToken ?? '')?.input;
    if (before === undefined) return false;
    // Compare the requests by the values that they would store. The first request was applied, so it has no undefined
    // values.
    if (equalValues(before as unknown as Item, input as unknown as Item)) return true;
    throw new IdempotentParameterMismatchException({ message: 'another request', $metadata: ANSWERED_400 });
  }

  #apply(plans: readonly Planned[]): void {
    const changes: RowChange[] = [];
    for (const { table, kind, before, after } of plans) {
      if (kind === 'ConditionCheck') continue;
      table.replace(before, after);
      if (this.#listeners.length === 0) continue;
      const change = changeOf(table.shape.name, before, after);
      if (change !== undefined) changes.push(change);
    }
    this.#notify(changes);
  }

  #notify(changes: readonly RowChange[]): void {
    if (changes.length > 0) for (const listener of this.#listeners) listener(changes);
  }

  #describeTimeToLive(name: string | undefined): unknown {
    const { timeToLive } = this.#table(name).shape;
    const description =
      timeToLive === undefined
        ? { TimeToLiveStatus: 'DISABLED' }
        : { TimeToLiveStatus: 'ENABLED', AttributeName: timeToLive };
    return { $metadata: {}, TimeToLiveDescription: description };
  }

  #table(name: string | undefined): MemoryTable {
    const table = this.#tables.get(name ?? '');
    if (table !== undefined) return table;
    throw new ResourceNotFoundException({ message: `Requested resource not found: ${name}`, $metadata: ANSWERED_400 });
  }
}

/** Refusals are frequent, and their stack traces would take most of the run time. */
function withoutStack<Result>(make: () => Result): Result {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return make();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

function isSameRow(one: Planned, other: Planned): boolean {
  return one.table === other.table && one.key.partition === other.key.partition && one.key.sort === other.key.sort;
}

function isKind(kind: string | undefined): kind is WriteKind {
  return kind === 'Put' || kind === 'Update' || kind === 'Delete' || kind === 'ConditionCheck';
}

function refused(cause: Error): DynamoDBServiceException {
  const { message } = cause;
  const exception = new DynamoDBServiceException({
    name: 'ValidationException',
    $fault: 'client',
    $metadata: ANSWERED_400,
    message,
  });
  exception.cause = cause;
  return exception;
}

function conditionFailed(plan: Planned): ConditionalCheckFailedException {
  const message = 'The conditional request failed';
  return withoutStack(
    () => new ConditionalCheckFailedException({ message, $metadata: ANSWERED_400, ...oldItem(plan) }),
  );
}

function canceled(plans: readonly Planned[]): TransactionCanceledException {
  const reasons = plans.map((plan) => {
    if (plan.isRefused) {
      return { Code: 'ConditionalCheckFailed', Message: 'The conditional request failed', ...oldItem(plan) };
    }
    return plan.fault === undefined ? { Code: 'None' } : { Code: 'ValidationError', Message: plan.fault };
  });
  const message = `Transaction cancelled, please refer cancellation reasons for specific reasons [${reasons.map(({ Code }) => Code).join(', ')}]`;
  return withoutStack(
    () => new TransactionCanceledException({ message, $metadata: ANSWERED_400, CancellationReasons: reasons }),
  );
}

/** The document client does not convert items in errors. */
function oldItem({ wantsOld, before }: Planned): { readonly Item?: Record<string, AttributeValue> } {
  return wantsOld && before !== undefined ? { Item: marshall(before.item) } : {};
}

function returned({ before, after, touched }: Planned, wanted: string): Item | undefined {
  switch (wanted) {
    case 'ALL_OLD':
      return before?.item;
    case 'ALL_NEW':
      return after?.item;
    case 'UPDATED_OLD':
      return projected(before?.item, touched);
    case 'UPDATED_NEW':
      return projected(after?.item, touched);
    case 'NONE':
      return undefined;
    default:
      throw new ValidationError(`ReturnValues ${wanted} is not supported`);
  }
}

/** Returns undefined for a write that changes nothing. */
function changeOf(table: string, before: Row | undefined, after: Row | undefined): RowChange | undefined {
  if (before === undefined && after === undefined) return undefined;
  if (before !== undefined && after !== undefined && equalValues(before.item, after.item)) return undefined;
  return rowChange(table, before, after);
}

function rowChange(table: string, before: Row | undefined, after: Row | undefined): RowChange {
  return {
    table,
    ...(before === undefined ? {} : { before: before.item }),
    ...(after === undefined ? {} : { after: after.item }),
  };
}

interface Units {
  readonly units: number;
  readonly indexUnits?: Readonly<Record<string, number>>;
}

function capacity(
  { ReturnConsumedCapacity: wanted = 'NONE' }: { readonly ReturnConsumedCapacity?: string | undefined },
  spent: () => readonly (readonly [MemoryTable, Units])[],
): { readonly ConsumedCapacity?: ConsumedCapacity | ConsumedCapacity[] } {
  if (wanted === 'NONE') return {};
  const all = spent().map(([{ shape }, { units, indexUnits = {} }]) => ({
    TableName: shape.name,
    CapacityUnits: Object.values(indexUnits).reduce((sum, each) => sum + each, units),
    Table: { CapacityUnits: units },
    GlobalSecondaryIndexes: Object.fromEntries(
      Object.entries(indexUnits).map(([name, each]) => [name, { CapacityUnits: each }]),
    ),
  }));
  const [only, ...others] = all;
  return { ConsumedCapacity: only === undefined || others.length > 0 ? all : only };
}
