import * as z from 'zod';
import { type Call as CallBy, found, type Handled, refusal } from '../../http/authenticated-api.ts';
import { readJsonObject, readOptionalJsonObject } from '../../http/json-body.ts';
import { readKeyedRequest } from '../../http/keyed-request.ts';
import { DEFAULT_PAGE, pageLimit } from '../../http/lists.ts';
import { causedByOperator, type OperatorRoute } from '../../http/operator-api.ts';
import { problem } from '../../http/problems.ts';
import { emptyQuery, freeText, validateBody, validateQuery } from '../../http/validate.ts';
import { KEY_ID, type KeyId, type OperatorCause } from '../../kernel/cause.ts';
import { ALL_SCOPES } from '../../kernel/contract/api.ts';
import type { Digest } from '../../kernel/digest.ts';
import { tenantId } from '../../kernel/ids.ts';
import { type KeyAdministration, type KeySummary, LastOwnerKeyError } from '../../tenants/keys.ts';
import type { Operator } from '../../tenants/operators.ts';
import { deriveKeyRequestId } from '../ids.ts';
import { makeKeyOnce } from '../use/make-key.ts';
import type { RecordTools } from '../use/record-once.ts';
import { modeField, tenantField, tenantParameter } from './ledger-schemas.ts';
import { NO_TENANT, recordedAnswer } from './recorded-answer.ts';

export interface KeyTools extends RecordTools {
  /** @param by named in the activity log */
  readonly keysBy: (by: OperatorCause) => KeyAdministration;
}

type Call = CallBy<KeyTools & { readonly digest: Digest }, Operator>;

export const keysQuery = z.strictObject({
  tenant: tenantParameter.meta({ description: 'The keys of this tenant. By default, those of operators.' }),
  limit: pageLimit('keys'),
  starting_after: z
    .string()
    .regex(KEY_ID, 'must be the id of a key')
    .optional()
    .meta({ description: 'The `id` of the last key of the previous page.' }),
});
export const revokeKeyBody = z
  .strictObject({ revoked: z.literal(true, 'must be true').meta({ description: 'A revoked key stays revoked.' }) })
  .meta({ id: 'RevokeKey' });

const DAY_MS = 86_400_000;

export const createKeyBody = z
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

export const rollKeyBody = z
  .strictObject({
    overlap_hours: z
      .int('must be a whole number of hours')
      .min(0, 'must be at least 0')
      .max(744, 'must be at most 744')
      .optional()
      .meta({ description: 'How long the old key stays valid; 0 revokes it immediately. Default: 24.' }),
  })
  .meta({ id: 'RollKey' });

/** The keys of tenants and of operators. */
export const KEY_ROUTES: readonly OperatorRoute<KeyTools & { readonly digest: Digest }>[] = [
  { method: 'GET', path: '/v1/admin/keys', role: 'owner', handle: listKeys },
  { method: 'POST', path: '/v1/admin/keys', role: 'owner', handle: createKey },
  { method: 'PATCH', path: '/v1/admin/keys/{id}', role: 'owner', handle: revoke },
  { method: 'POST', path: '/v1/admin/keys/{id}/roll', role: 'owner', handle: rollKey },
];

async function listKeys(call: Call): Promise<Handled> {
  const { tools, request } = call;
  const query = validateQuery(keysQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const { tenant, limit = DEFAULT_PAGE, starting_after: after } = query.value;
  const page = { limit: limit + 1, ...(after === undefined ? {} : { after: after as KeyId }) };
  const keys = await tools
    .keysBy(causedByOperator(call))
    .pageOfKeys(tenant === undefined ? undefined : tenantId(tenant), page);
  return found({ object: 'list', data: keys.slice(0, limit).map(keyObject), has_more: keys.length > limit });
}

async function createKey(call: Call): Promise<Handled> {
  const { tools, request, caller } = call;
  const read = readKeyedRequest(tools.digest, request, createKeyBody);
  if (read.kind === 'refused') return refusal(read.problem, request);
  const { key, fingerprint, body } = read.value;
  const { tenant, mode, name, scopes, expires_in_days: days } = body;
  const expiry = days === undefined ? {} : { expiresAtMs: tools.clock.nowMs() + days * DAY_MS };
  const wanted = { tenantId: tenantId(tenant), mode, name, scopes, ...expiry };
  const scope = { person: caller.person, method: 'POST', path: '/v1/admin/keys', key };
  const outcome = await makeKeyOnce(tools, {
    operationId: deriveKeyRequestId(tools.digest, scope),
    fingerprint,
    status: 201,
    make: (recordOf) => tools.keysBy(causedByOperator(call)).makeApiKey(wanted, recordOf),
    show: shownOnce,
  });
  return recordedAnswer(outcome, request, NO_TENANT);
}

async function rollKey(call: Call): Promise<Handled> {
  const { tools, request, caller, id } = call;
  const read = readKeyedRequest(tools.digest, request, rollKeyBody, readOptionalJsonObject);
  if (read.kind === 'refused') return refusal(read.problem, request);
  const { key, fingerprint, body } = read.value;
  const { overlap_hours: overlapHours = DEFAULT_OVERLAP_HOURS } = body;
  const keys = tools.keysBy(causedByOperator(call));
  const old = KEY_ID.test(id) ? await keys.summaryOf(id as KeyId) : undefined;
  // A caller who receives the new key of an operator could act, and approve, as that operator.
  if (old === undefined || 'operator' in old) return refusal(NO_KEY_OF_TENANT, request);
  const scope = { person: caller.person, method: 'POST', path: `/v1/admin/keys/${id}/roll`, key };
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
    problem('key_ended', 'The key was revoked, has expired, or was replaced before.'),
  );
}

const DEFAULT_OVERLAP_HOURS = 24;
const LAST_OWNER = problem('last_owner_key', 'No other owner has a valid key. Create one by the command line first.');
const NO_KEY_OF_TENANT = problem('not_found', 'There is no such key of a tenant.');

/** A key with its secret, which only the first answer shows. */
function shownOnce(key: KeySummary, secret: string | null): Readonly<Record<string, unknown>> {
  return { ...keyObject(key), secret };
}

/** The request states the result, so repeating it has the same effect and needs no idempotency key. */
async function revoke(call: Call): Promise<Handled> {
  const { tools, request, id } = call;
  const query = validateQuery(emptyQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const sent = readJsonObject(request);
  if (sent.kind === 'refused') return refusal(sent.problem, request);
  const body = validateBody(revokeKeyBody, sent.value);
  if (body.kind === 'refused') return refusal(body.problem, request);
  const keys = tools.keysBy(causedByOperator(call));
  try {
    if (KEY_ID.test(id)) await keys.revokeKey(id as KeyId);
  } catch (error) {
    if (error instanceof LastOwnerKeyError) return refusal(LAST_OWNER, request);
    throw error;
  }
  const key = KEY_ID.test(id) ? await keys.summaryOf(id as KeyId) : undefined;
  return key === undefined ? refusal(problem('not_found', 'There is no such key.'), request) : found(keyObject(key));
}

function keyObject(key: KeySummary): Readonly<Record<string, unknown>> {
  const { id, hint, createdAtMs, lastUsedOn, expiresAtMs, revokedAtMs, rolledTo } = key;
  const rights =
    'operator' in key
      ? { name: key.operator, role: key.role, tenant: null, mode: null, scopes: [] }
      : { name: key.name, role: null, tenant: key.tenantId, mode: key.mode, scopes: key.scopes };
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
