import * as z from 'zod';
import { activityObject } from '../../activity/domain/activity.ts';
import { found, refusal } from '../../http/authenticated-api.ts';
import { type ReadingCall, reading } from '../../http/endpoint.ts';
import { problem } from '../../http/problems.ts';
import { wholeNumber } from '../../http/validate.ts';
import { defined } from '../../kernel/defined.ts';
import { decisionOf, type Transition } from '../../payments/domain/transition.ts';
import { MAX_SEQUENCE, transitionObject } from '../../payments/http/list-transitions.ts';
import { paymentPath } from '../../payments/http/payment-answers.ts';
import { type KnownProcessors, pinnedProcessor } from '../../payments/use/pinned-processor.ts';
import type { Processor } from '../../payments/use/processor.ts';
import type { Operator } from '../../tenants/operators.ts';
import {
  MAX_TRANSITIONS,
  readTimeline,
  type TimelineEntry,
  type TimelineEvent,
  type TimelineTools,
} from '../use/read-timeline.ts';
import { timeline } from './answer-schemas.ts';

const timelineQuery = z.strictObject({
  limit: wholeNumber(
    1,
    MAX_TRANSITIONS,
    `Maximum number of transitions that a page covers. Default: ${MAX_TRANSITIONS}.`,
  ),
  starting_after: wholeNumber(
    0,
    MAX_SEQUENCE,
    'The `next_sequence` of the previous page. This page covers the transitions after it.',
  ),
});

interface GetTimelineTools extends KnownProcessors {
  readonly timeline: TimelineTools;
}

type TimelineCall = ReadingCall<GetTimelineTools, typeof timelineQuery, Operator>;

export const getTimeline = reading({
  path: '/v1/admin/payments/{id}/timeline',
  role: 'viewer',
  query: timelineQuery,
  handle: async ({ tools, request, id, query }: TimelineCall) => {
    const { limit = MAX_TRANSITIONS, starting_after: afterSequence = 0 } = query;
    const outcome = await readTimeline(tools.timeline, id, { afterSequence, limit });
    if (outcome.kind === 'not_found') return refusal(problem('not_found', 'There is no such payment.'), request);
    const { payment, first, entries, hasMore } = outcome;
    return found({
      object: 'timeline',
      payment: payment.id,
      tenant: payment.tenantId,
      livemode: payment.mode === 'live',
      processor_abilities: abilitiesObject(pinnedProcessor(tools, first)),
      data: entries.map(entryObject),
      has_more: hasMore,
      next_sequence: hasMore ? afterSequence + limit : null,
    });
  },
  docs: {
    operationId: 'getTimeline',
    tag: 'Operators',
    summary: 'Show the timeline of a payment',
    description:
      'Lists transitions, claims and takeovers, calls to the processor with their results, callbacks, events, webhook attempts, alarms and actions of operators in chronological order. ' +
      'A page covers some transitions and everything that belongs to them. Claims and calls are shown until the record of their key expires, and deliveries for 90 days. Calls of a crashed process are not recorded.',
    path: paymentPath,
    answers: { 200: { description: 'A page of the timeline.', schema: timeline } },
  },
});

function abilitiesObject(processor: Processor | undefined): Readonly<Record<string, boolean>> | null {
  if (processor === undefined) return null;
  const { partialCapture, refund, partialRefund } = processor.abilities;
  return { partial_captures: partialCapture, refunds: refund, partial_refunds: partialRefund };
}

/**
 * The reason that an operator gave for a change or for the decision about it, not the `reason` in the subject of the
 * transition.
 */
function operatorReason(transition: Transition): string | undefined {
  const { cause, subject } = transition;
  if (cause.by !== 'operator') return undefined;
  const made = decisionOf(transition);
  if (made !== undefined && made !== subject) return made.reason;
  return subject?.kind === 'capture' || subject?.kind === 'void' ? subject.request?.reason : undefined;
}

/**
 * The cause of the transition names only the approver. A refund does not contain the requester's name; only its
 * approval does.
 */
function requesterOf(transition: Transition): string | undefined {
  const { cause, subject } = transition;
  if (cause.by !== 'operator') return undefined;
  const requester = decisionOf(transition)?.operator ?? operatorOf(subject);
  return requester === cause.operator ? undefined : requester;
}

function operatorOf(subject: Transition['subject']): string | undefined {
  if (subject?.kind === 'correction') return subject.operator;
  return subject?.kind === 'capture' || subject?.kind === 'void' ? subject.request?.operator : undefined;
}

function entryObject({ atMs, sequence, happened }: TimelineEntry): Record<string, unknown> {
  return {
    object: 'timeline_entry',
    at: new Date(atMs).toISOString(),
    kind: happened.kind,
    sequence: sequence ?? null,
    ...shown(happened),
  };
}

function shown(happened: TimelineEvent): Record<string, unknown> {
  switch (happened.kind) {
    case 'transition': {
      const { sequence: _sequence, created: _created, ...rest } = transitionObject(happened.transition);
      const { payment, cause } = happened.transition;
      const isOverride = cause.by === 'operator' && decisionOf(happened.transition)?.override === true;
      return {
        ...rest,
        status: payment.status,
        ...(isOverride ? { override: true } : {}),
        ...defined({
          operator_reason: operatorReason(happened.transition),
          requested_by: requesterOf(happened.transition),
        }),
      };
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
