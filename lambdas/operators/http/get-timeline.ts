import * as z from 'zod';
import { activityObject } from '../../activity/domain/activity.ts';
import { found, refusal } from '../../http/authenticated-api.ts';
import type { OperatorRoute } from '../../http/operator-api.ts';
import { problem } from '../../http/problems.ts';
import { validateQuery, wholeNumber } from '../../http/validate.ts';
import { decisionOf } from '../../payments/domain/transition.ts';
import { MAX_SEQUENCE, transitionObject } from '../../payments/http/list-transitions.ts';
import {
  type Happened,
  MAX_TRANSITIONS,
  readTimeline,
  type TimelineEntry,
  type TimelineTools,
} from '../use/read-timeline.ts';

export const timelineQuery = z.strictObject({
  limit: wholeNumber(
    1,
    MAX_TRANSITIONS,
    `Maximum number of transitions that a page covers. Default: ${MAX_TRANSITIONS}.`,
  ),
  starting_after: wholeNumber(
    0,
    MAX_SEQUENCE,
    'The `next_sequence` of the previous page: this page covers the transitions after it.',
  ),
});

/** The timeline of a payment, for operators. */
export const getTimeline: OperatorRoute<{ readonly timeline: TimelineTools }> = {
  method: 'GET',
  path: '/v1/admin/payments/{id}/timeline',
  role: 'viewer',
  handle: async ({ tools, request, id }) => {
    const query = validateQuery(timelineQuery, request.query);
    if (query.kind === 'refused') return refusal(query.problem, request);
    const { limit = MAX_TRANSITIONS, starting_after: afterSequence = 0 } = query.value;
    const outcome = await readTimeline(tools.timeline, id, { afterSequence, limit });
    if (outcome.kind === 'not_found') return refusal(problem('not_found', 'There is no such payment.'), request);
    const { payment, entries, hasMore } = outcome;
    return found({
      object: 'timeline',
      payment: payment.id,
      tenant: payment.tenantId,
      livemode: payment.mode === 'live',
      data: entries.map(entryObject),
      has_more: hasMore,
      next_sequence: hasMore ? afterSequence + limit : null,
    });
  },
};

function entryObject({ atMs, sequence, happened }: TimelineEntry): Record<string, unknown> {
  return {
    object: 'timeline_entry',
    at: new Date(atMs).toISOString(),
    kind: happened.kind,
    sequence: sequence ?? null,
    ...shown(happened),
  };
}

function shown(happened: Happened): Record<string, unknown> {
  switch (happened.kind) {
    case 'transition': {
      const { sequence: _sequence, created: _created, ...rest } = transitionObject(happened.transition);
      const { payment, cause } = happened.transition;
      const isOverride = cause.by === 'operator' && decisionOf(happened.transition)?.override === true;
      return { ...rest, status: payment.status, ...(isOverride ? { override: true } : {}) };
    }
    case 'claim':
      return { operation: happened.operationId, owner: happened.owner };
    case 'takeover': {
      const { owner, released = false } = happened.from;
      return { operation: happened.operationId, from_owner: owner, was_released: released };
    }
    case 'call': {
      const { do: call, result, tookMs } = happened.call;
      return { operation: happened.operationId, call, result, duration_ms: tookMs };
    }
    case 'answer':
      return { operation: happened.operationId, http_status: happened.status };
    case 'open':
      return {
        operation: happened.operationId,
        was_released: happened.leaseExpiresAtMs === undefined,
        lease_until: happened.leaseExpiresAtMs === undefined ? null : new Date(happened.leaseExpiresAtMs).toISOString(),
      };
    case 'callback':
      return { event_id: happened.eventId };
    case 'event':
      return { event_id: happened.eventId, type: happened.type };
    case 'delivery': {
      const { delivery, attempt } = happened;
      const { id, endpointId, eventId, status } = delivery;
      const ended = { http_status: attempt.status ?? null, error: attempt.error ?? null };
      return {
        delivery: id,
        endpoint: endpointId,
        event_id: eventId,
        delivery_status: status,
        ...ended,
        duration_ms: attempt.durationMs,
      };
    }
    case 'alarm':
      return { alarm: happened.alarm };
    case 'act': {
      const { id, action, caused_by: causedBy, about } = activityObject(happened.entry);
      return { activity: id, action, caused_by: causedBy, about };
    }
  }
}
