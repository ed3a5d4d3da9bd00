import * as z from 'zod';
import { type Call as CallBy, found, type Handled, refusal } from '../../http/authenticated-api.ts';
import { readJsonObject } from '../../http/json-body.ts';
import { causedByOperator, type OperatorRoute } from '../../http/operator-api.ts';
import { problem } from '../../http/problems.ts';
import { emptyQuery, validateBody, validateQuery } from '../../http/validate.ts';
import { KEY_ID, type KeyId, type OperatorCause } from '../../kernel/cause.ts';
import { tenantId } from '../../kernel/ids.ts';
import type { ApiKeySummary, KeyAdministration, OperatorKeySummary } from '../../tenants/keys.ts';
import type { Operator } from '../../tenants/operators.ts';
import { tenantParameter } from './ledger-schemas.ts';

export interface KeyTools {
  /** @param by named in the activity log */
  readonly keysBy: (by: OperatorCause) => KeyAdministration;
}

type Call = CallBy<KeyTools, Operator>;

export const keysQuery = z.strictObject({
  tenant: tenantParameter.meta({ description: 'The keys of this tenant. By default, those of operators.' }),
});
export const revokeKeyBody = z
  .strictObject({ revoked: z.literal(true, 'must be true').meta({ description: 'A revoked key stays revoked.' }) })
  .meta({ id: 'RevokeKey' });

/** The keys of tenants and of operators. */
export const KEY_ROUTES: readonly OperatorRoute<KeyTools>[] = [
  { method: 'GET', path: '/v1/admin/keys', role: 'owner', handle: listKeys },
  { method: 'PATCH', path: '/v1/admin/keys/{id}', role: 'owner', handle: revoke },
];

async function listKeys(call: Call): Promise<Handled> {
  const { tools, request } = call;
  const query = validateQuery(keysQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const { tenant } = query.value;
  const keys = tools.keysBy(causedByOperator(call));
  const data = tenant === undefined ? await keys.listOperatorKeys() : await keys.listApiKeys(tenantId(tenant));
  return found({ object: 'list', data: data.map(keyObject), has_more: false });
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
  if (KEY_ID.test(id)) await keys.revokeKey(id as KeyId);
  const key = KEY_ID.test(id) ? await keys.summaryOf(id as KeyId) : undefined;
  return key === undefined ? refusal(problem('not_found', 'There is no such key.'), request) : found(keyObject(key));
}

function keyObject(key: ApiKeySummary | OperatorKeySummary): Readonly<Record<string, unknown>> {
  const { id, hint, createdAtMs, lastUsedOn, expiresAtMs, revokedAtMs } = key;
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
  };
}

function seconds(timeMs: number): number {
  return Math.floor(timeMs / 1000);
}
