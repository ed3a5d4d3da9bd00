import * as z from 'zod';
import { type Call as CallBy, found, type Handled, refusal } from '../../http/authenticated-api.ts';
import { readKeyedRequest } from '../../http/keyed-request.ts';
import { causedByOperator, type OperatorRoute } from '../../http/operator-api.ts';
import { validateQuery } from '../../http/validate.ts';
import { JSON_TYPE } from '../../kernel/answer.ts';
import type { OperatorCause } from '../../kernel/cause.ts';
import { HIGHEST_LIMIT, type RateLimit } from '../../kernel/contract/limits.ts';
import { defined } from '../../kernel/defined.ts';
import type { Digest } from '../../kernel/digest.ts';
import { tenantId } from '../../kernel/ids.ts';
import { deployedLimitOf, LIMIT_KINDS, type LimitSettings, type TenantLimit } from '../../tenants/limits.ts';
import type { Operator } from '../../tenants/operators.ts';
import type { Owner } from '../../tenants/owners.ts';
import { deriveLimitRequestId } from '../ids.ts';
import { type RecordTools, recordOnce } from '../use/record-once.ts';
import { modeField, tenantField } from './ledger-schemas.ts';
import { NO_TENANT, recordedAnswer } from './recorded-answer.ts';

export interface LimitTools extends RecordTools {
  readonly digest: Digest;
  /** @param by named in the activity log */
  readonly limitsBy: (by: OperatorCause) => LimitSettings;
  /** The limit of tenants without a limit of their own. */
  readonly deployedLimit: RateLimit;
}

type Call = CallBy<LimitTools, Operator>;

export const limitsQuery = z.strictObject({ tenant: tenantField.meta({ description: 'The limits of this tenant.' }) });

const range = `must be a whole number from 1 to ${HIGHEST_LIMIT}, or null`;
const number = z.int(range).min(1, range).max(HIGHEST_LIMIT, range).nullable();

export const setLimitBody = z
  .strictObject({
    tenant: tenantField.meta({ description: 'The tenant whose requests are limited.' }),
    mode: modeField,
    kind: z.enum(LIMIT_KINDS, `must be one of ${LIMIT_KINDS.join(', ')}`),
    rate: number.meta({
      description: 'Requests per second. Null, together with `burst`, restores the limit of the deployment.',
    }),
    burst: number.meta({ description: 'Maximum burst of requests after a pause.' }),
  })
  .refine(({ rate, burst }) => (rate === null) === (burst === null), {
    path: ['burst'],
    message: 'must be null if rate is null, and only then',
  })
  .meta({ id: 'SetLimit' });

const PATH = '/v1/admin/limits';

/** The limits of tenants. */
export const LIMIT_ROUTES: readonly OperatorRoute<LimitTools>[] = [
  { method: 'GET', path: PATH, role: 'viewer', handle: listLimits },
  { method: 'POST', path: PATH, role: 'owner', handle: setLimit },
];

async function listLimits(call: Call): Promise<Handled> {
  const { tools, request } = call;
  const query = validateQuery(limitsQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const settings = tools.limitsBy(causedByOperator(call));
  const data = [];
  for (const mode of ['live', 'test'] as const) {
    const owner = { tenantId: tenantId(query.value.tenant), mode };
    data.push(...(await settings.list(owner)).map((limit) => limitObject(tools, owner, limit)));
  }
  return found({ object: 'list', data, has_more: false });
}

async function setLimit(call: Call): Promise<Handled> {
  const { tools, request, caller } = call;
  const read = readKeyedRequest(tools.digest, request, setLimitBody);
  if (read.kind === 'refused') return refusal(read.problem, request);
  const { key, fingerprint, body } = read.value;
  const { tenant, mode, kind, rate, burst } = body;
  const owner = { tenantId: tenantId(tenant), mode };
  const own = rate === null || burst === null ? undefined : { rate, burst };
  const limit = { kind, ...defined({ own }) };
  const answer = {
    status: 200,
    headers: { 'content-type': JSON_TYPE },
    body: JSON.stringify(limitObject(tools, owner, limit)),
  };
  const outcome = await recordOnce(tools, {
    operationId: deriveLimitRequestId(tools.digest, { person: caller.person, method: 'POST', path: PATH, key }),
    fingerprint,
    act: async (recordOf) => {
      const settings = tools.limitsBy(causedByOperator(call));
      return (await settings.change({ ...owner, kind }, own, recordOf(answer))) ? answer : undefined;
    },
  });
  return recordedAnswer(outcome, request, NO_TENANT);
}

function limitObject({ deployedLimit }: Pick<LimitTools, 'deployedLimit'>, owner: Owner, { kind, own }: TenantLimit) {
  const { rate, burst } = own ?? deployedLimitOf(deployedLimit, kind);
  return { object: 'limit', tenant: owner.tenantId, mode: owner.mode, kind, rate, burst, is_own: own !== undefined };
}
