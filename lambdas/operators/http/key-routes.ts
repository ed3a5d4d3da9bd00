import * as z from 'zod';
import { found, type Handled, refusal } from '../../http/authenticated-api.ts';
import {
  type KeyedCall,
  keyed,
  type OperatorEndpoint,
  type ReadingCall,
  reading,
  type SettingCall,
  setting,
} from '../../http/endpoint.ts';
import { pageLimit, SMALL_PAGE } from '../../http/lists.ts';
import { causedByOperator } from '../../http/operator-api.ts';
import { problem } from '../../http/problems.ts';
import { freeText } from '../../http/validate.ts';
import { KEY_ID, type KeyId, type OperatorCause } from '../../kernel/cause.ts';
import { ALL_SCOPES } from '../../kernel/contract/api.ts';
import type { Digest } from '../../kernel/digest.ts';
import { tenantId } from '../../kernel/ids.ts';
import { type KeyAdministration, type KeySummary, LastOwnerKeyError } from '../../tenants/keys.ts';
import type { Operator } from '../../tenants/operators.ts';
import { deriveKeyRequestId } from '../ids.ts';
import { makeKeyOnce } from '../use/make-key.ts';
import type { RecordTools } from '../use/record-once.ts';
import { key, keyList, keyPath, keyWithSecret } from './key-answers.ts';
import { modeField, tenantField, tenantParameter } from './ledger-schemas.ts';
import { NO_TENANT, recordedAnswer } from './recorded-answer.ts';

export interface KeyTools extends RecordTools {
  /** @param by the operator to name in the activity log */
  readonly keysBy: (by: OperatorCause) => KeyAdministration;
}

type Tools = KeyTools & { readonly digest: Digest };

const keysQuery = z.strictObject({
  tenant: tenantParameter.meta({ description: 'List the keys of this tenant. Default: the keys of operators.' }),
  limit: pageLimit('keys', SMALL_PAGE),
  starting_after: z
    .string()
    .regex(KEY_ID, 'must be the id of a key')
    .optional()
    .meta({ description: 'The `id` of the last key of the previous page.' }),
});
const revokeKeyBody = z
  .strictObject({ revoked: z.literal(true, 'must be true').meta({ description: 'A revoked key stays revoked.' }) })
  .meta({ id: 'RevokeKey' });

const DAY_MS = 86_400_000;
const DEFAULT_OVERLAP_HOURS = 24;
const SECRET_ONCE =
  'A repeated request gets `null` instead of the key. If the first response was lost, revoke the key and create another one.';

const createKeyBody = z
  .strictObject({
    tenant: tenantField.meta({ description: 'The tenant that owns the key.' }),
    mode: modeField,
    name: freeText(100, 1).meta({ description: 'The purpose of the key.', example: 'Web shop' }),
    scopes: z
      .array(z.enum(ALL_SCOPES, `must be one of ${ALL_SCOPES.join(', ')}`), 'must be an array of scopes')
      .min(1, 'must have at least 1 scope')
      .max(ALL_SCOPES.length, `must have at most ${ALL_SCOPES.length} scopes`),
    expires_in_days: z
      .int('must be a whole number of days')
      .min(1, 'must be at least 1')
      .max(3650, 'must be at most 3650')
      .optional()
      .meta({ description: 'Number of days after which the key is refused. By default, it does not expire.' }),
  })
  .meta({ id: 'CreateKey' });

const rollKeyBody = z
  .strictObject({
    overlap_hours: z
      .int('must be a whole number of hours')
      .min(0, 'must be at least 0')
      .max(744, 'must be at most 744')
      .optional()
      .meta({
        description: 'Number of hours for which the old key stays valid; 0 revokes it immediately. Default: 24.',
      }),
  })
  .meta({ id: 'RollKey' });

const getKeys = reading({
  path: '/v1/admin/keys',
  role: 'owner',
  query: keysQuery,
  handle: listKeys,
  docs: {
    operationId: 'listKeys',
    tag: 'Ledger',
    summary: 'List keys',
    description: 'Lists the keys of a tenant or of operators, sorted by id, without their secrets.',
    answers: { 200: { description: 'A page of keys.', schema: keyList } },
  },
});

async function listKeys(call: ReadingCall<Tools, typeof keysQuery, Operator>): Promise<Handled> {
  const { tenant, limit = SMALL_PAGE, starting_after: after } = call.query;
  const page = { limit: limit + 1, ...(after === undefined ? {} : { after: after as KeyId }) };
  const keys = await call.tools
    .keysBy(causedByOperator(call))
    .pageOfKeys(tenant === undefined ? undefined : tenantId(tenant), page);
  return found({ object: 'list', data: keys.slice(0, limit).map(keyObject), has_more: keys.length > limit });
}

const postKey = keyed({
  path: '/v1/admin/keys',
  role: 'owner',
  body: createKeyBody,
  handle: createKey,
  docs: {
    operationId: 'createKey',
    tag: 'Ledger',
    summary: 'Create a key of a tenant',
    description: `Only the first response contains the key itself. ${SECRET_ONCE} To create keys for operators, use the command line.`,
    key: ['key', 'no second key is made'],
    expires: false,
    requests: {
      key: {
        summary: 'Create a key',
        value: {
          tenant: 'ten_k3jx5aqhz4m2nrb7',
          mode: 'live',
          name: 'Web shop',
          scopes: ['payments:read', 'payments:write'],
        },
      },
    },
    answers: { 201: { description: 'The key, with its `secret`.', schema: keyWithSecret } },
  },
});

async function createKey(call: KeyedCall<Tools, typeof createKeyBody, Operator>): Promise<Handled> {
  const { tools, request, caller, fingerprint } = call;
  const { tenant, mode, name, scopes, expires_in_days: days } = call.body;
  const expiry = days === undefined ? {} : { expiresAtMs: tools.clock.nowMs() + days * DAY_MS };
  const wanted = { tenantId: tenantId(tenant), mode, name, scopes, ...expiry };
  const scope = { person: caller.person, method: 'POST', path: '/v1/admin/keys', key: call.key };
  const outcome = await makeKeyOnce(tools, {
    operationId: deriveKeyRequestId(tools.digest, scope),
    fingerprint,
    status: 201,
    make: (recordOf) => tools.keysBy(causedByOperator(call)).makeApiKey(wanted, recordOf),
    show: shownOnce,
  });
  return recordedAnswer(outcome, request, NO_TENANT);
}

const postRoll = keyed({
  path: '/v1/admin/keys/{id}/roll',
  role: 'owner',
  body: rollKeyBody,
  optionalBody: true,
  handle: rollKey,
  docs: {
    operationId: 'rollKey',
    tag: 'Ledger',
    summary: 'Replace a key of a tenant',
    description: `Creates a key with the same name, scopes and lifetime. The old key stays valid for \`overlap_hours\`. A key can be replaced only once. ${SECRET_ONCE}`,
    path: keyPath,
    key: ['replacement', 'no second key is made'],
    expires: false,
    requests: {
      roll: { summary: 'Replace the key; the old key expires in two days', value: { overlap_hours: 48 } },
    },
    answers: { 201: { description: 'The new key, with its `secret`.', schema: keyWithSecret } },
    problems: ['key_ended'],
  },
});

async function rollKey(call: KeyedCall<Tools, typeof rollKeyBody, Operator>): Promise<Handled> {
  const { tools, request, caller, id, fingerprint } = call;
  const { overlap_hours: overlapHours = DEFAULT_OVERLAP_HOURS } = call.body;
  const keys = tools.keysBy(causedByOperator(call));
  const old = KEY_ID.test(id) ? await keys.summaryOf(id as KeyId) : undefined;
  // Refuse keys of operators: a caller who receives such a key could act, and approve, as that operator.
  if (old === undefined || 'operator' in old) return refusal(NO_KEY_OF_TENANT, request);
  const scope = { person: caller.person, method: 'POST', path: `/v1/admin/keys/${id}/roll`, key: call.key };
  const outcome = await makeKeyOnce(tools, {
    operationId: deriveKeyRequestId(tools.digest, scope),
    fingerprint,
    status: 201,
    make: (recordOf) => keys.makeSuccessor(old.id, overlapHours * 3_600, recordOf),
    show: shownOnce,
  });
  return recordedAnswer(
    outcome,
    request,
    problem('key_ended', 'The key was revoked, has expired, or was already replaced.'),
  );
}

const LAST_OWNER = problem('last_owner_key', 'No other owner has a valid key. Create one with the command line first.');
const NO_KEY_OF_TENANT = problem('not_found', 'No API key of a tenant has this id.');

/** Only the first response contains the secret. */
function shownOnce(made: KeySummary, secret: string | null): Readonly<Record<string, unknown>> {
  return { ...keyObject(made), secret };
}

const patchKey = setting({
  path: '/v1/admin/keys/{id}',
  role: 'owner',
  body: revokeKeyBody,
  handle: revoke,
  docs: {
    operationId: 'revokeKey',
    tag: 'Ledger',
    summary: 'Revoke a key',
    description: 'Revokes a key by its id; the key itself is not needed. All functions refuse it within ten seconds.',
    path: keyPath,
    requests: { revoke: { summary: 'Revoke the key', value: { revoked: true } } },
    answers: { 200: { description: 'The revoked key.', schema: key } },
    problems: ['last_owner_key'],
  },
});

async function revoke(call: SettingCall<Tools, typeof revokeKeyBody, Operator>): Promise<Handled> {
  const { tools, request, id } = call;
  const keys = tools.keysBy(causedByOperator(call));
  try {
    if (KEY_ID.test(id)) await keys.revokeKey(id as KeyId);
  } catch (error) {
    if (error instanceof LastOwnerKeyError) return refusal(LAST_OWNER, request);
    throw error;
  }
  const left = KEY_ID.test(id) ? await keys.summaryOf(id as KeyId) : undefined;
  return left === undefined ? refusal(problem('not_found', 'There is no such key.'), request) : found(keyObject(left));
}

function keyObject(shown: KeySummary): Readonly<Record<string, unknown>> {
  const { id, hint, createdAtMs, lastUsedOn, expiresAtMs, revokedAtMs, rolledTo } = shown;
  const rights =
    'operator' in shown
      ? { name: shown.operator, role: shown.role, tenant: null, mode: null, scopes: [] }
      : { name: shown.name, role: null, tenant: shown.tenantId, mode: shown.mode, scopes: shown.scopes };
  return {
    id,
    object: 'key',
    ...rights,
    hint,
    created: seconds(createdAtMs),
    last_used: lastUsedOn ?? null,
    expires: expiresAtMs === undefined ? null : seconds(expiresAtMs),
    revoked: revokedAtMs === undefined ? null : seconds(revokedAtMs),
    rolled_to: rolledTo ?? null,
  };
}

function seconds(timeMs: number): number {
  return Math.floor(timeMs / 1000);
}

export const KEY_ROUTES: readonly OperatorEndpoint<Tools>[] = [getKeys, postKey, patchKey, postRoll];
