import type { ActivityDraft, ActivityEntry } from '../../activity/domain/activity.ts';
import { nextEntry } from '../../activity/domain/activity.ts';
import { activityKey } from '../../activity/store/activity-keys.ts';
import { activityRow, DynamoDbActivity } from '../../activity/store/dynamodb-activity.ts';
import { defined } from '../../kernel/defined.ts';
import { systemDigest } from '../../kernel/platform/platform.ts';
import { ROW_IS_NEW, type TransactItem, transactOnce } from '../../once/store/transact-items.ts';
import type { AuthorityStateTools } from './authority-state.ts';

type ImportAction = Extract<ActivityDraft['action'], `import.${string}`>;

/**
 * The log of imports. Its newest entry determines the system of record for every process. Used only by operators'
 * commands.
 */
export class AuthorityLog {
  readonly #tools: AuthorityStateTools;
  readonly #operator: string;

  constructor(tools: AuthorityStateTools, operator: string) {
    this.#tools = tools;
    this.#operator = operator;
  }

  async newest(): Promise<ActivityEntry | undefined> {
    const { client, tables, pacing } = this.#tools;
    const log = new DynamoDbActivity(client, tables, pacing);
    return (await log.listActivity('imports', { order: 'newest_first', limit: 1 }))[0];
  }

  /**
   * Appends an entry after the given one. Of two concurrent commands, only one succeeds:
   *
   *   import   ── started ✓ ── copies ── compares ──────────── finished ✗
   *   operator ─────────────────────────────────── canceled ✓
   *
   * @param imported the id of one payment or order that the import has copied into each database, by the name of the
   * database; empty for a database without payments and orders
   * @returns undefined if another entry follows the given one
   */
  async append(
    after: ActivityEntry | undefined,
    action: ImportAction,
    imported?: Readonly<Record<string, string>>,
  ): Promise<ActivityEntry | undefined> {
    const { client, tables, pacing } = this.#tools;
    const actor = { by: 'command' as const, operator: this.#operator };
    const about = Object.values(imported ?? {}).filter((id) => id !== '');
    const draft: ActivityDraft = {
      chain: 'imports',
      action,
      actor,
      about,
      ...defined({ details: imported }),
      occurredAtMs: pacing.clock.nowMs(),
    };
    const entry = nextEntry(systemDigest, after, draft);
    const put = { Put: { TableName: tables.ledger, Item: activityRow(entry), ConditionExpression: ROW_IS_NEW } };
    const written = await transactOnce(client, pacing, [put]);
    return written.kind === 'applied' ? entry : undefined;
  }

  /**
   * Writes rows of another table in one transaction, only if the given entry is still the newest.
   * @returns false if another entry follows it, or a condition of the writes fails
   */
  async write(newest: ActivityEntry, items: readonly TransactItem[]): Promise<boolean> {
    const { client, tables, pacing } = this.#tools;
    const Key = activityKey(newest.chain, newest.sequence + 1);
    const check = { ConditionCheck: { TableName: tables.ledger, Key, ConditionExpression: ROW_IS_NEW } };
    return (await transactOnce(client, pacing, [...items, check])).kind === 'applied';
  }
}
