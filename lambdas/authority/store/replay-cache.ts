import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
import type { OperationId } from '../../kernel/ids.ts';
import type { Clock, Entropy } from '../../kernel/world.ts';
import { type CompletedRecord, isExpired } from '../../once/domain/idempotency.ts';
import { ProcessReplayCache } from '../../once/process-records.ts';
import { parseRecord, recordKey, toRecordItem } from '../../once/store/record-items.ts';
import type { ReplayCache } from '../../once/use/operation-runner.ts';

const READ_LIMIT_MS = 50;
const WRITE_LIMIT_MS = 200;
/** An entry expires up to this much earlier than its record, in seconds, so that entries do not expire together. */
const EXPIRY_JITTER_SECONDS = 3_600;

export interface ReplayCacheObserver {
  hit(): void;
  /** Called when PostgreSQL has the response for a key, but the table lacks it or does not respond in time. */
  missed(): void;
  notStored(error: unknown): void;
}

export interface ReplayCacheTools {
  readonly client: DynamoDBDocumentClient;
  readonly table: string;
  readonly clock: Clock;
  readonly entropy: Pick<Entropy, 'fraction'>;
  readonly observer: ReplayCacheObserver;
}

/**
 * A cache of completed records in DynamoDB, in front of PostgreSQL. A hit needs no SQL statement. Only the owner writes
 * an entry, after its commit, so an entry never precedes its record:
 *
 *   owner   ── claim ── call ── commit ✓ ── entry ✓ ── response
 *   retry                                             ── read: hit ── the same response
 *
 * If the owner crashes before it has written the entry, or the table does not respond in time, a retry reads
 * PostgreSQL.
 */
export class TableReplayCache implements ReplayCache {
  readonly #tools: ReplayCacheTools;
  readonly #ofProcess = new ProcessReplayCache();

  constructor(tools: ReplayCacheTools) {
    this.#tools = tools;
  }

  async find(operationId: OperationId): Promise<CompletedRecord | undefined> {
    const known = await this.#ofProcess.find(operationId);
    if (known !== undefined) return known;
    const found = await this.#read(operationId);
    if (found !== undefined) {
      this.#tools.observer.hit();
      this.#ofProcess.put(found);
    }
    return found;
  }

  put(record: CompletedRecord): void {
    if (!isExpired(record, this.#tools.clock.nowMs())) this.#tools.observer.missed();
    this.#ofProcess.put(record);
  }

  async committed(record: CompletedRecord): Promise<void> {
    this.#ofProcess.put(record);
    const { client, table, entropy, observer } = this.#tools;
    const { expiresAtSeconds } = record;
    const expiresEarlier = Math.floor(expiresAtSeconds - EXPIRY_JITTER_SECONDS * entropy.fraction()) - 1;
    const Item = toRecordItem({ ...record, expiresAtSeconds: expiresEarlier });
    try {
      await client.send(new PutCommand({ TableName: table, Item }), within(WRITE_LIMIT_MS));
    } catch (error) {
      observer.notStored(error);
    }
  }

  async #read(operationId: OperationId): Promise<CompletedRecord | undefined> {
    const { client, table, clock } = this.#tools;
    try {
      const command = new GetCommand({ TableName: table, Key: recordKey(operationId) });
      const { Item } = await client.send(command, within(READ_LIMIT_MS));
      const record = Item === undefined ? undefined : parseRecord(Item);
      return record?.status === 'COMPLETED' && !isExpired(record, clock.nowMs()) ? record : undefined;
    } catch {
      // Ignore the error, because PostgreSQL has the record.
      return undefined;
    }
  }
}

function within(ms: number): { readonly abortSignal: AbortSignal } {
  return { abortSignal: AbortSignal.timeout(ms) };
}
