import { type DynamoDBDocumentClient, GetCommand, PutCommand, QueryCommand } from '@aws-sdk/lib-dynamodb';
import type { ActivityDraft } from '../../activity/domain/activity.ts';
import { DynamoDbActivity } from '../../activity/store/dynamodb-activity.ts';
import { RegistryRow } from '../../kernel/contract/rows.ts';
import { KeyAttribute } from '../../kernel/contract/tables.ts';
import { defined } from '../../kernel/defined.ts';
import { type Pacing, readWithRetries, writeConditionally } from '../../kernel/platform/attempts.ts';
import type { Item } from '../../kernel/platform/items.ts';
import { failOnUnreadable, readableRows, type Unreadable } from '../../kernel/platform/queue-rows.ts';
import { rowsAfter } from '../../kernel/platform/rows-after.ts';
import { isRefused, ROW_IS_NEW, type TransactItem, transactOnce } from '../../once/store/transact-items.ts';
import { rounds } from '../../once/use/rounds.ts';
import { FIRST_SORT_KEY, LAST_SORT_KEY, type ViewOwner } from '../../views/domain/lists.ts';
import type { DataExport, ExportKey } from '../domain/data-export.ts';
import { type ExportStore, MAX_OPEN_EXPORTS, type MadeExport } from '../use/exports.ts';
import {
  exportPlace,
  exportRow,
  exportsPartition,
  idRowKey,
  type OpenExports,
  openKey,
  openRow,
  parseExport,
  parseIdRow,
  parseOpen,
} from './export-items.ts';

/** Number of {@link OpenExports} rows that one query reads. Each row takes at most a few hundred bytes. */
const OWNERS_PAGE = 1_000;

/** Stores exports in the Registry table. Requests for exports are logged in the activity log, in the Ledger table. */
export class DynamoDbExports implements ExportStore {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;
  readonly #ledger: string;
  readonly #pacing: Pacing;
  readonly #unreadable: Unreadable;

  /** @default the read fails */
  constructor(
    client: DynamoDBDocumentClient,
    { registry, ledger }: { readonly registry: string; readonly ledger: string },
    pacing: Pacing,
    unreadable: Unreadable = failOnUnreadable,
  ) {
    this.#client = client;
    this.#table = registry;
    this.#ledger = ledger;
    this.#pacing = pacing;
    this.#unreadable = unreadable;
  }

  /**
   * The write requires that the list of unfinished exports has not changed since it was read, so of two requests for
   * the last free slot, one is refused:
   *
   *   A ── read four ── write five ✓
   *   B ──── read four ──── write five ✗ ── read five: too many
   */
  async make(asked: DataExport, activity: ActivityDraft): Promise<MadeExport> {
    const log = new DynamoDbActivity(this.#client, { ledger: this.#ledger }, this.#pacing);
    let left: number | undefined;
    return rounds<MadeExport>('the exports of a tenant', async () => {
      const open = await this.#open(asked);
      if (open.ids.length >= MAX_OPEN_EXPORTS) {
        const found = await this.read(asked);
        return found === undefined ? { kind: 'too_many' } : { kind: 'exists', found };
      }
      const place = { ...idRowKey(asked), createdAtMs: asked.createdAtMs };
      const written = await transactOnce(this.#client, this.#pacing, [
        { Put: { TableName: this.#table, Item: place, ...unchangedCondition(left) } },
        { Put: { TableName: this.#table, Item: exportRow(asked), ConditionExpression: ROW_IS_NEW } },
        this.#opened(open, [...open.ids, asked.id]),
        ...(await log.itemsFor(activity)),
      ]);
      if (written.kind === 'applied') return { kind: 'written' };
      const found = await this.read(asked);
      if (found !== undefined) return { kind: 'exists', found };
      // In a table that was restored from a backup, the location row can exist without its export.
      const there = await this.#get(idRowKey(asked));
      left = there === undefined ? undefined : parseIdRow(there).createdAtMs;
      return 'again';
    });
  }

  async read(key: ExportKey): Promise<DataExport | undefined> {
    const place = await this.#get(idRowKey(key));
    if (place === undefined) return undefined;
    const { createdAtMs } = parseIdRow(place);
    const sort = exportPlace({ id: key.id, createdAtMs });
    const found = await this.#get({
      [KeyAttribute.partition]: exportsPartition(key),
      [KeyAttribute.sort]: sort,
    });
    return found === undefined ? undefined : parseExport(found);
  }

  async list(owner: ViewOwner, limit: number, after?: string): Promise<readonly DataExport[] | undefined> {
    const last = after === undefined ? undefined : await this.read({ ...owner, id: after });
    if (after !== undefined && last === undefined) return undefined;
    const until = last === undefined ? LAST_SORT_KEY : exportPlace(last);
    const rows: Item[] = [];
    let next: Item | undefined;
    do {
      const page = await readWithRetries(this.#pacing, () =>
        this.#client.send(
          new QueryCommand({
            TableName: this.#table,
            KeyConditionExpression: '#pk = :pk AND #sk BETWEEN :from AND :until',
            ExpressionAttributeNames: { '#pk': KeyAttribute.partition, '#sk': KeyAttribute.sort },
            ExpressionAttributeValues: { ':pk': exportsPartition(owner), ':from': FIRST_SORT_KEY, ':until': until },
            ScanIndexForward: false,
            ConsistentRead: true,
            // BETWEEN includes its upper bound, which is the last row of the previous page.
            Limit: limit + 1 - rows.length,
            ...defined({ ExclusiveStartKey: next }),
          }),
        ),
      );
      rows.push(...(page.Items ?? []).filter((row) => row[KeyAttribute.sort] !== until));
      next = page.LastEvaluatedKey;
    } while (next !== undefined && rows.length < limit);
    return rows.slice(0, limit).map(parseExport);
  }

  async open(): Promise<readonly ExportKey[]> {
    const rows: Item[] = [];
    let found: readonly Item[];
    do {
      const after = rows.at(-1)?.[KeyAttribute.sort] as string | undefined;
      const pages = { table: this.#table, partition: RegistryRow.openExports, pacing: this.#pacing };
      found = await rowsAfter(this.#client, pages, { after, limit: OWNERS_PAGE });
      rows.push(...found);
    } while (found.length === OWNERS_PAGE);
    const lists = readableRows(rows, parseOpen, this.#unreadable);
    return lists.flatMap(({ tenantId, mode, ids }) => ids.map((id) => ({ tenantId, mode, id })));
  }

  async save(now: DataExport): Promise<boolean> {
    const put = new PutCommand(this.#revised(now));
    const { kind } = await writeConditionally(this.#pacing, () => this.#client.send(put));
    return kind === 'applied' || this.#isMine(now);
  }

  async end(now: DataExport): Promise<boolean> {
    return rounds('the exports of a tenant', async () => {
      const open = await this.#open(now);
      const ids = open.ids.filter((id) => id !== now.id);
      const items = [{ Put: this.#revised(now) }, this.#opened(open, ids)];
      const written = await transactOnce(this.#client, this.#pacing, items);
      if (written.kind === 'applied') return true;
      const [ofExport] = written.kind === 'refused' ? written.reasons : [];
      return isRefused(ofExport) ? this.#isMine(now) : 'again';
    });
  }

  /** Returns whether this call's write took effect although its response was lost. */
  async #isMine(now: DataExport): Promise<boolean> {
    const found = await this.read(now);
    return found?.revision === now.revision && found.owner === now.owner;
  }

  #revised(now: DataExport) {
    return {
      TableName: this.#table,
      Item: exportRow(now),
      ConditionExpression: 'revision = :was',
      ExpressionAttributeValues: { ':was': now.revision - 1 },
    };
  }

  /** Removes the row when the list is empty, because a job reads all of these rows. */
  #opened(was: OpenExports, ids: readonly string[]): TransactItem {
    const TableName = this.#table;
    const Item = openRow({ ...was, ids });
    if (was.ids.length === 0) return { Put: { TableName, Item, ConditionExpression: ROW_IS_NEW } };
    const unchanged = { ConditionExpression: 'ids = :was', ExpressionAttributeValues: { ':was': was.ids } };
    if (ids.length === 0) return { Delete: { TableName, Key: openKey(was), ...unchanged } };
    return { Put: { TableName, Item, ...unchanged } };
  }

  async #open({ tenantId, mode }: ViewOwner): Promise<OpenExports> {
    const found = await this.#get(openKey({ tenantId, mode }));
    return found === undefined ? { tenantId, mode, ids: [] } : parseOpen(found);
  }

  async #get(key: Item): Promise<Item | undefined> {
    const { Item } = await readWithRetries(this.#pacing, () =>
      this.#client.send(new GetCommand({ TableName: this.#table, Key: key, ConsistentRead: true })),
    );
    return Item;
  }
}

/**
 * @param createdAtMs creation time in the location row to replace, whose export is missing; undefined if there is none
 */
function unchangedCondition(createdAtMs: number | undefined) {
  if (createdAtMs === undefined) return { ConditionExpression: ROW_IS_NEW };
  return { ConditionExpression: 'createdAtMs = :left', ExpressionAttributeValues: { ':left': createdAtMs } };
}
