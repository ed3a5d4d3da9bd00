import * as z from 'zod';
import { found, type Handled } from '../../http/authenticated-api.ts';
import { type KeyedCall, keyed, type OperatorEndpoint, type ReadingCall, reading } from '../../http/endpoint.ts';
import { causedByOperator } from '../../http/operator-api.ts';
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
import { limit, limitList } from './key-answers.ts';
import { modeField, tenantField } from './ledger-schemas.ts';
import { NO_TENANT, recordedAnswer } from './recorded-answer.ts';

export interface LimitTools extends RecordTools {
  readonly digest: Digest;
  /** @param by the operator to name in the activity log */
  readonly limitsBy: (by: OperatorCause) => LimitSettings;
  readonly deployedLimit: RateLimit;
}

const limitsQuery = z.strictObject({
  tenant: tenantField.meta({ description: 'The tenant whose limits are listed.' }),
});

const range = `must be a whole number from 1 to ${HIGHEST_LIMIT}, or null`;
const number = z.int(range).min(1, range).max(HIGHEST_LIMIT, range).nullable();

const setLimitBody = z
  .strictObject({
    tenant: tenantField.meta({ description: 'The tenant whose requests are limited.' }),
    mode: modeField,
    kind: z.enum(LIMIT_KINDS, `must be one of ${LIMIT_KINDS.join(', ')}`),
    rate: number.meta({
      description: 'Requests per second. Null, together with `burst`, restores the limit of the deployment.',
    }),
    burst: number.meta({ description: 'Maximum number of requests in a burst after a pause.' }),
  })
  .refine(({ rate, burst }) => (rate === null) === (burst === null), {
    path: ['burst'],
    message: 'must be null if and only if rate is null',
  })
  .meta({ id: 'SetLimit' });

const PATH = '/v1/admin/limits';

const getLimits = reading({
  path: PATH,
  role: 'viewer',
  query: limitsQuery,
  handle: listLimits,
  docs: {
    operationId: 'listLimits',
    tag: 'Ledger',
    summary: 'List the request limits of a tenant',
    description: 'Lists, for each mode and kind of request, the tenant’s own limit or else the deployment’s limit.',
    answers: { 200: { description: 'All limits of the tenant.', schema: limitList } },
  },
});

async function listLimits(call: ReadingCall<LimitTools, typeof limitsQuery, Operator>): Promise<Handled> {
  const { tools, query } = call;
  const settings = tools.limitsBy(causedByOperator(call));
  const data = [];
  for (const mode of ['live', 'test'] as const) {
    const owner = { tenantId: tenantId(query.tenant), mode };
    data.push(...(await settings.list(owner)).map((each) => limitObject(tools, owner, each)));
  }
  return found({ object: 'list', data, has_more: false });
}

const postLimit = keyed({
  path: PATH,
  role: 'owner',
  body: setLimitBody,
  handle: setLimit,
  docs: {
    operationId: 'setLimit',
    tag: 'Ledger',
    summary: 'Change a request limit of a tenant',
    description:
      'Gives the tenant a limit of its own, or restores the limit of the deployment. Each process applies the change within a second while it refuses requests, otherwise within a minute.',
    key: ['change', 'it does not undo a later change'],
    expires: false,
    requests: {
      raise: {
        summary: 'Twice as many payments',
        value: { tenant: 'ten_k3jx5aqhz4m2nrb7', mode: 'live', kind: 'payments', rate: 200, burst: 400 },
      },
    },
    answers: { 200: { description: 'The limit that applies now.', schema: limit } },
  },
});

async function setLimit(call: KeyedCall<LimitTools, typeof setLimitBody, Operator>): Promise<Handled> {
  const { tools, request, caller, key, fingerprint } = call;
  const { tenant, mode, kind, rate, burst } = call.body;
  const owner = { tenantId: tenantId(tenant), mode };
  const own = rate === null || burst === null ? undefined : { rate, burst };
  const answer = {
    status: 200,
    headers: { 'content-type': JSON_TYPE },
    body: JSON.stringify(limitObject(tools, owner, { kind, ...defined({ own }) })),
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

export const LIMIT_ROUTES: readonly OperatorEndpoint<LimitTools>[] = [getLimits, postLimit];
