import { createHash, randomBytes } from 'node:crypto';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { GetCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import type { ActivityDraft, Actor } from '../../activity/domain/activity.ts';
import { DynamoDbActivity } from '../../activity/store/dynamodb-activity.ts';
import { KEY_ID, type KeyId, type OperatorCause } from '../../kernel/cause.ts';
import type { Role } from '../../kernel/contract/api.ts';
import { RegistryRow } from '../../kernel/contract/rows.ts';
import { KeyAttribute } from '../../kernel/contract/tables.ts';
import { defined } from '../../kernel/defined.ts';
import { base32 } from '../../kernel/digest.ts';
import type { TenantId } from '../../kernel/ids.ts';
import { tenantId } from '../../kernel/ids.ts';
import { type Pacing, readWithRetries } from '../../kernel/platform/attempts.ts';
import type { Item } from '../../kernel/platform/items.ts';
import { systemClock, systemEntropy } from '../../kernel/platform/platform.ts';
import { rowsAfter } from '../../kernel/platform/rows-after.ts';
import type { EffectRecord } from '../../once/domain/idempotency.ts';
import { effectRecordItem } from '../../once/store/record-items.ts';
import { RECORD_IS_NEW, ROW_IS_NEW, type StoreTables, type TransactItem } from '../../once/store/transact-items.ts';
import { rounds } from '../../once/use/rounds.ts';
import { isRevokedOrExpired } from '../api-key-registry.ts';
import {
  type ApiKeySummary,
  type KeyAdministration,
  type KeySummary,
  LastOwnerKeyError,
  type MadeKey,
  type NewApiKey,
  type OperatorKeySummary,
  type Page,
  type RecordOfKey,
  type StoredApiKey,
  type StoredOperatorKey,
  type TenantSummary,
} from '../keys.ts';
import { operatorKeyItem } from './operator-registry.ts';
import { ownerRow, tenantRowKey } from './tenant-owners.ts';
import { apiKeyItem, apiKeyUseKey, idOfKeyHash, type KeyRowPrefix, keyRowKey } from './tenant-registry.ts';

/** The clock and the source of randomness for the command line. */
export const PACING: Pacing = { clock: systemClock, entropy: systemEntropy };

const KEY_BYTES = 32;
const TENANT_BYTES = 10;
/** Number of stored characters of a key: enough to distinguish two keys, too few to use one. */
const HINT_LENGTH = 4;
/** Number of rows per page for the command line, which reads at most 1,000 pages, or 100,000 rows. */
const PAGE = 100;
const MAX_PAGES = 1_000;
/** Number of concurrent look-ups of keys, each with two or three reads. */
const READ_AT_ONCE = 10;

export interface NewOperatorKey {
  /** The name of the person who uses the key. */
  readonly operator: string;
  readonly role: Role;
  /** @default the key does not expire */
  readonly expiresAtMs?: number;
}

const storedKey = {
  hint: z.string(),
  createdAtMs: z.int(),
  rolledTo: z
    .string()
    .transform((id) => id as KeyId)
    .exactOptional(),
};
const storedApiKeyItem = apiKeyItem.extend({ ...storedKey, name: z.string() });
const storedOperatorKeyItem = operatorKeyItem.extend(storedKey);
const apiKeyUseItem = z.object({ usedOn: z.string() });
const tenantItem = z.object({ name: z.string(), createdAtMs: z.int() });
export class UnknownTenantError extends Error {
  override readonly name = 'UnknownTenantError';

  constructor(id: TenantId) {
    super(`There is no tenant ${id}.`);
  }
}

/**
 * Each change is written in one transaction with its entry in the activity log. The operators' API is the only deployed
 * function that may create and change keys. It can revoke operators' keys, but only the command line can create or
 * replace them.
 */
export class TenantAdministration implements KeyAdministration {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;
  readonly #records: string;
  readonly #activity: DynamoDbActivity;
  readonly #actor: Actor;
  readonly #pacing: Pacing;

  /** @param actor recorded in the activity log: the user of the command line, or an operator of the API */
  constructor(
    client: DynamoDBDocumentClient,
    tables: StoreTables,
    actor: string | OperatorCause,
    pacing: Pacing = PACING,
  ) {
    this.#client = client;
    this.#table = tables.registry;
    this.#records = tables.idempotency;
    this.#activity = new DynamoDbActivity(client, tables, pacing);
    this.#actor = typeof actor === 'string' ? { by: 'command', operator: actor } : actor;
    this.#pacing = pacing;
  }

  /**
   * @param options.id the tenant's id; an existing tenant with this id is not changed @default a random id
   * @param options.databases the PostgreSQL databases of the deployment; the tenant is placed into one of them
   * @default the only database
   */
  async createTenant(
    name: string,
    {
      id = tenantId(`ten_${base32(randomBytes(TENANT_BYTES))}`),
      databases = [],
    }: { readonly id?: TenantId; readonly databases?: readonly string[] } = {},
  ): Promise<TenantId> {
    const shard = databases.length > 1 ? databaseOfNewTenant(id, databases) : undefined;
    const row = { ...tenantRowKey(id), name, createdAtMs: this.#pacing.clock.nowMs(), ...defined({ shard }) };
    await this.#write([this.#newRow(row)], { chain: 'deployment', action: 'tenant.created', about: [id] });
    return id;
  }

  /**
   * @returns the secret key, which cannot be retrieved later, because only its hash is stored
   * @throws UnknownTenantError if the tenant does not exist
   */
  async createApiKey(wanted: NewApiKey): Promise<string> {
    const made = await this.makeApiKey(wanted);
    if (made === undefined) throw new UnknownTenantError(wanted.tenantId);
    return made.key;
  }

  async makeApiKey(wanted: NewApiKey, recordOf?: RecordOfKey): Promise<MadeKey | undefined> {
    const { tenantId: owner, mode, scopes } = wanted;
    const { key, row } = this.#newKey(wanted);
    const id = idOfKeyHash(row.keyHash);
    const summary = { id, ...row };
    const isWritten = await this.#write(
      [
        ...this.#recordRows(recordOf, summary),
        tenantExists(this.#table, owner),
        ...this.#newKeyRows(row),
        // Payments require an API key, so these rows cover every owner, and owners can be listed without a scan.
        { Put: { TableName: this.#table, Item: ownerRow(owner, mode) } },
      ],
      {
        chain: { tenantId: owner, mode },
        action: 'api_key.created',
        about: [id],
        details: { name: wanted.name, scopes: scopes.join(' '), ...expiry(wanted) },
      },
    );
    return isWritten ? { key, summary } : undefined;
  }

  /** @returns the secret key, which cannot be retrieved later, because only its hash is stored */
  async createOperatorKey(wanted: NewOperatorKey): Promise<string> {
    const { key, row } = this.#newKey(wanted);
    await this.#write(this.#newKeyRows(row), {
      chain: 'deployment',
      action: 'operator_key.created',
      about: [idOfKeyHash(row.keyHash)],
      details: { operator: wanted.operator, role: wanted.role, ...expiry(wanted) },
    });
    return key;
  }

  /** @returns the new secret key; undefined if no such valid key exists, or the key was already replaced */
  async rollKey(id: KeyId, overlapSeconds: number): Promise<string | undefined> {
    return (await this.makeSuccessor(id, overlapSeconds))?.key;
  }

  async makeSuccessor(id: KeyId, overlapSeconds: number, recordOf?: RecordOfKey): Promise<MadeKey | undefined> {
    const old = await this.#findKey(id);
    const nowMs = this.#pacing.clock.nowMs();
    if (old === undefined || isRevokedOrExpired(old, nowMs)) return undefined;
    const { createdAtMs, expiresAtMs } = old;
    const lifetime = expiresAtMs === undefined ? {} : { expiresAtMs: nowMs + expiresAtMs - createdAtMs };
    const { key, row } = this.#newKey({ ...rightsOf(old), ...lifetime });
    const summary = { id: idOfKeyHash(row.keyHash), ...row };
    const endsAtMs = Math.min(expiresAtMs ?? Number.MAX_SAFE_INTEGER, nowMs + overlapSeconds * 1000);
    // Of two concurrent replacements, the second finds that the key already has a successor, and writes nothing.
    const change = [
      ...this.#recordRows(recordOf, summary),
      this.#update(old, { expiresAtMs: endsAtMs, rolledTo: summary.id }),
      ...this.#newKeyRows(row),
    ];
    const isWritten = await this.#write(change, {
      ...ofKey(old, 'rolled'),
      about: [summary.id, id],
      details: { old_key_expires: new Date(endsAtMs).toISOString(), ...expiry(lifetime) },
    });
    return isWritten ? { key, summary } : undefined;
  }

  /**
   * Processes that have cached the key reject it within ten seconds; all others reject it immediately. The command line
   * may revoke the last owner key, because it can create another one.
   *
   *   A revokes B ── reads B, A ── B revoked if A is valid ✓
   *   B revokes A ──── reads A, B ──── A revoked if B is valid ✗ ── reads A: no other key is valid
   *
   * @returns false if the key does not exist or was already revoked
   * @throws LastOwnerKeyError if an operator tries to revoke the last valid owner key
   */
  async revokeKey(id: KeyId): Promise<boolean> {
    return rounds(`the key ${id}`, async () => {
      const found = await this.#findKey(id);
      if (found === undefined || found.revokedAtMs !== undefined) return false;
      const revocation = this.#update(found, { revokedAtMs: this.#pacing.clock.nowMs() });
      const kept = await this.#otherOwner(found);
      return (await this.#write([revocation, ...kept], { ...ofKey(found, 'revoked'), about: [id] })) || 'again';
    });
  }

  /**
   * Builds the condition for revoking an owner key: another owner key must be valid. A replaced key does not count,
   * because it expires at the end of its overlap.
   * @returns no condition for the command line, or if the key is not a valid owner key
   * @throws LastOwnerKeyError if no other owner key is valid
   */
  async #otherOwner(key: StoredApiKey | StoredOperatorKey): Promise<readonly TransactItem[]> {
    const nowMs = this.#pacing.clock.nowMs();
    if (this.#actor.by === 'command' || !isOwner(key) || isRevokedOrExpired(key, nowMs)) return [];
    const others = (await this.listOperatorKeys()).filter(
      (each) =>
        isOwner(each) &&
        each.keyHash !== key.keyHash &&
        each.rolledTo === undefined &&
        !isRevokedOrExpired(each, nowMs),
    );
    // Check the key that expires last.
    const [other] = others.toSorted((left, right) => endOf(right) - endOf(left));
    if (other === undefined) throw new LastOwnerKeyError('no other owner has a valid key');
    const valid = 'attribute_not_exists(revokedAtMs) AND attribute_not_exists(rolledTo)';
    return [
      {
        ConditionCheck: {
          TableName: this.#table,
          Key: keyRowKey(RegistryRow.operatorKey, other.id),
          ConditionExpression: `attribute_exists(${KeyAttribute.partition}) AND ${valid}`,
        },
      },
    ];
  }

  #newKey<Wanted extends NewApiKey | NewOperatorKey>(wanted: Wanted) {
    const prefix = 'operator' in wanted ? 'ok' : `sk_${wanted.mode}`;
    const key = `${prefix}_${randomBytes(KEY_BYTES).toString('base64url')}`;
    const hint = key.slice(-HINT_LENGTH);
    return { key, row: { ...wanted, keyHash: hashOfApiKey(key), hint, createdAtMs: this.#pacing.clock.nowMs() } };
  }

  #newKeyRows(row: StoredApiKey | StoredOperatorKey): readonly TransactItem[] {
    const id = idOfKeyHash(row.keyHash);
    const place = {
      [KeyAttribute.partition]: keysOf('operator' in row ? undefined : row.tenantId),
      [KeyAttribute.sort]: id,
    };
    return [this.#newRow({ ...keyRowKey(kindOf(row), id), ...row }), this.#newRow(place)];
  }

  #update(
    key: StoredApiKey | StoredOperatorKey,
    fields: Readonly<Partial<Pick<StoredApiKey, 'expiresAtMs' | 'revokedAtMs' | 'rolledTo'>>>,
  ): TransactItem {
    const names = Object.keys(fields);
    const isOpen = `attribute_exists(${KeyAttribute.partition}) AND attribute_not_exists(revokedAtMs)`;
    return {
      Update: {
        TableName: this.#table,
        Key: keyRowKey(kindOf(key), idOfKeyHash(key.keyHash)),
        UpdateExpression: `SET ${names.map((name) => `${name} = :${name}`).join(', ')}`,
        ConditionExpression: 'rolledTo' in fields ? `${isOpen} AND attribute_not_exists(rolledTo)` : isOpen,
        ExpressionAttributeValues: Object.fromEntries(
          Object.entries(fields).map(([name, value]) => [`:${name}`, value]),
        ),
      },
    };
  }

  #recordRows(recordOf: RecordOfKey | undefined, summary: KeySummary): readonly TransactItem[] {
    return recordOf === undefined ? [] : [newRecord(this.#records, recordOf(summary))];
  }

  #newRow(row: Record<string, unknown>): TransactItem {
    return { Put: { TableName: this.#table, Item: row, ConditionExpression: ROW_IS_NEW } };
  }

  /** @returns false when a condition of the change fails; then nothing was written */
  #write(
    change: readonly TransactItem[],
    activity: Pick<ActivityDraft, 'chain' | 'action' | 'about' | 'details'>,
  ): Promise<boolean> {
    return this.#activity.record({ ...activity, actor: this.#actor, occurredAtMs: this.#pacing.clock.nowMs() }, change);
  }

  async listTenants(): Promise<readonly TenantSummary[]> {
    const found = await this.#all((page: Page<TenantId>) => this.pageOfTenants(page));
    return found.toSorted((left, right) => left.createdAtMs - right.createdAtMs);
  }

  async pageOfTenants(page: Page<TenantId>): Promise<readonly TenantSummary[]> {
    return (await this.#page(RegistryRow.tenants, page)).map(parseTenant);
  }

  async listApiKeys(owner: TenantId): Promise<readonly ApiKeySummary[]> {
    return (await this.#listKeys(owner)).flatMap((key) => ('operator' in key ? [] : [key]));
  }

  async listOperatorKeys(): Promise<readonly OperatorKeySummary[]> {
    return (await this.#listKeys(undefined)).flatMap((key) => ('operator' in key ? [key] : []));
  }

  async #listKeys(owner: TenantId | undefined): Promise<readonly KeySummary[]> {
    const found = await this.#all((page: Page<KeyId>) => this.pageOfKeys(owner, page));
    return found.toSorted((left, right) => left.createdAtMs - right.createdAtMs);
  }

  async pageOfKeys(owner: TenantId | undefined, page: Page<KeyId>): Promise<readonly KeySummary[]> {
    const { limit } = page;
    const found: KeySummary[] = [];
    let next: Page<KeyId> | undefined = page;
    // A page can have fewer keys than ids if an operator has deleted rows.
    for (let pages = 0; next !== undefined && found.length < limit && pages < MAX_PAGES; pages += 1) {
      const rows = await this.#page(keysOf(owner), next);
      const ids = rows.map((item) => item[KeyAttribute.sort] as KeyId);
      for (let from = 0; from < ids.length; from += READ_AT_ONCE) {
        const read = await Promise.all(ids.slice(from, from + READ_AT_ONCE).map((id) => this.summaryOf(id)));
        found.push(...read.flatMap((key) => key ?? []));
      }
      const after = ids.at(-1);
      next = after === undefined || ids.length < limit ? undefined : { limit, after };
    }
    return found.slice(0, limit);
  }

  async #all<Id extends string, Found extends { readonly id: Id }>(
    read: (page: Page<Id>) => Promise<readonly Found[]>,
  ): Promise<readonly Found[]> {
    const found: Found[] = [];
    for (let pages = 0; pages < MAX_PAGES; pages += 1) {
      const after = found.at(-1)?.id;
      const page = await read({ limit: PAGE, ...defined({ after }) });
      found.push(...page);
      if (page.length < PAGE) break;
    }
    return found;
  }

  async #page(partition: string, page: Page<string>): Promise<readonly Item[]> {
    return rowsAfter(this.#client, { table: this.#table, partition, pacing: this.#pacing }, page);
  }

  async summaryOf(id: KeyId): Promise<KeySummary | undefined> {
    const key = await this.#findKey(id);
    if (key === undefined) return undefined;
    const use = await this.#read(apiKeyUseKey(id));
    return { id, ...key, ...(use === undefined ? {} : { lastUsedOn: parseApiKeyUse(use).usedOn }) };
  }

  async #findKey(id: KeyId): Promise<StoredApiKey | StoredOperatorKey | undefined> {
    const item =
      (await this.#read(keyRowKey(RegistryRow.apiKey, id))) ??
      (await this.#read(keyRowKey(RegistryRow.operatorKey, id)));
    return item === undefined ? undefined : parseKey(item);
  }

  async #read(key: Record<string, string>): Promise<Record<string, unknown> | undefined> {
    const { Item } = await readWithRetries(this.#pacing, () =>
      this.#client.send(new GetCommand({ TableName: this.#table, Key: key, ConsistentRead: true })),
    );
    return Item;
  }
}

/** @param text a key, or its id */
export function keyIdIn(text: string): KeyId | undefined {
  if (KEY_ID.test(text)) return text as KeyId;
  return /^[so]k_/.test(text) ? idOfApiKey(text) : undefined;
}

export function idOfApiKey(key: string): KeyId {
  return idOfKeyHash(hashOfApiKey(key));
}

export function hashOfApiKey(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

export function parseKey(item: Record<string, unknown>): StoredApiKey | StoredOperatorKey {
  if ('operator' in item) return storedOperatorKeyItem.parse(item);
  const row = storedApiKeyItem.parse(item);
  return { ...row, tenantId: tenantId(row.tenantId) };
}

function rightsOf(key: StoredApiKey | StoredOperatorKey): NewApiKey | NewOperatorKey {
  if ('operator' in key) return { operator: key.operator, role: key.role };
  return { tenantId: key.tenantId, mode: key.mode, scopes: key.scopes, name: key.name };
}

function isOwner(key: StoredApiKey | StoredOperatorKey): boolean {
  return 'operator' in key && key.role === 'owner';
}

function endOf({ expiresAtMs = Number.MAX_SAFE_INTEGER }: StoredOperatorKey): number {
  return expiresAtMs;
}

function ofKey(
  key: StoredApiKey | StoredOperatorKey,
  change: 'rolled' | 'revoked',
): Pick<ActivityDraft, 'chain' | 'action'> {
  if ('operator' in key) return { chain: 'deployment', action: `operator_key.${change}` };
  return { chain: { tenantId: key.tenantId, mode: key.mode }, action: `api_key.${change}` };
}

function kindOf(key: StoredApiKey | StoredOperatorKey): KeyRowPrefix {
  return 'operator' in key ? RegistryRow.operatorKey : RegistryRow.apiKey;
}

function keysOf(owner: TenantId | undefined): string {
  return owner === undefined ? RegistryRow.operatorKeys : `${RegistryRow.apiKeys}${owner}`;
}

export function parseApiKeyUse(item: Record<string, unknown>): z.infer<typeof apiKeyUseItem> {
  return apiKeyUseItem.parse(item);
}

function expiry({ expiresAtMs }: { readonly expiresAtMs?: number }): Readonly<Record<string, string>> {
  return expiresAtMs === undefined ? {} : { expires: new Date(expiresAtMs).toISOString() };
}

/** Builds the item that writes a request's idempotency record, for the transaction that writes the request's effect. */
export function newRecord(recordTable: string, record: EffectRecord): TransactItem {
  const Item = effectRecordItem(record);
  return { Put: { TableName: recordTable, Item, ConditionExpression: RECORD_IS_NEW } };
}

export function tenantExists(registryTable: string, id: TenantId): TransactItem {
  const present = `attribute_exists(${KeyAttribute.partition})`;
  return { ConditionCheck: { TableName: registryTable, Key: tenantRowKey(id), ConditionExpression: present } };
}

export function parseTenant(item: Record<string, unknown>): TenantSummary {
  return { id: tenantId(String(item[KeyAttribute.sort])), ...tenantItem.parse(item) };
}

/** @returns undefined if there are no databases */
export function databaseOfNewTenant(id: TenantId, databases: readonly string[]): string | undefined {
  return databases[createHash('sha256').update(id).digest().readUInt32BE() % databases.length];
}
