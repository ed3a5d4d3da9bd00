import type { Mutant } from './mutant.ts';

/** Planted faults in idempotent execution, the stores, events, views, webhooks and orders. */
export const ONCE_MUTANTS: readonly Mutant[] = [
  {
    name: 'owner-not-fenced',
    fault: 'An owner can commit after a takeover of its claim.',
    edits: [
      {
        file: 'lambdas/once/store/record-writes.ts',
        find: "HELD_BY_OWNER = '#owner = :owner AND #status = :open'",
        replace: "HELD_BY_OWNER = '(#owner = :owner OR attribute_exists(#owner)) AND #status = :open'",
      },
    ],
  },
  {
    name: 'completed-record-overwritten',
    fault: 'An owner that finishes late replaces the stored response of the owner that finished first.',
    edits: [
      {
        file: 'lambdas/once/store/record-writes.ts',
        find: "HELD_BY_OWNER = '#owner = :owner AND #status = :open'",
        replace: "HELD_BY_OWNER = '#owner = :owner OR #status <> :open OR #owner <> :owner'",
      },
    ],
  },
  {
    name: 'place-in-chain-taken-twice',
    fault: 'A transition overwrites a transition that a rival has written.',
    edits: [
      {
        file: 'lambdas/payments/store/items.ts',
        find: 'Item: transitionRow(transition), ConditionExpression: ROW_IS_NEW }',
        replace:
          "Item: transitionRow(transition), ConditionExpression: `${ROW_IS_NEW} OR ${KeyAttribute.sort} > :first`, ExpressionAttributeValues: { ':first': transitionSort(1) } }",
      },
    ],
  },
  {
    name: 'expired-answer-replayed',
    fault:
      'After the retention of an idempotency key, its stored response is still returned until the record is deleted.',
    needs: ['retry'],
    edits: [
      {
        file: 'lambdas/once/use/judge-record.ts',
        find: "if (record.status === 'COMPLETED' && isExpired(record, nowMs)) return",
        replace: "if (record.status === 'COMPLETED' && isExpired(record, 0)) return",
      },
    ],
  },
  {
    name: 'lost-record-answered-again',
    fault:
      'After the record of a completed idempotency key is deleted, a request with the key is executed a second time.',
    needs: ['retry'],
    edits: [
      {
        file: 'lambdas/once/use/execute-once.ts',
        find: "if (lost.isAnswered) return { kind: 'refused', outcome: expired };",
        replace: "if (lost.isAnswered && lost.claimedAtMs === 0) return { kind: 'refused', outcome: expired };",
      },
    ],
  },
  {
    name: 'other-body-replayed',
    fault: 'A request with a used idempotency key and a different body gets the stored response.',
    needs: ['retry'],
    edits: [
      {
        file: 'lambdas/once/use/judge-record.ts',
        find: "if (!isSameRequest(record.fingerprint, request.fingerprint)) return { kind: 'payload_mismatch' };\n  if (record.status === 'COMPLETED')",
        replace:
          "if (!isSameRequest(record.fingerprint, record.fingerprint)) return { kind: 'payload_mismatch' };\n  if (record.status === 'COMPLETED')",
      },
    ],
  },
  {
    name: 'key-scope-without-tenant',
    fault: 'The same idempotency key of two tenants identifies one payment.',
    needs: ['retry'],
    edits: [
      {
        file: 'lambdas/kernel/idempotency-key.ts',
        find: 'return [scope.tenantId, scope.mode,',
        replace: 'return [scope.mode,',
      },
    ],
  },
  {
    name: 'unsent-claim-believed-after-send',
    fault: 'A claim is released although its request may have been sent.',
    edits: [
      {
        file: 'lambdas/once/use/execute-once.ts',
        find: 'this.#provenUnsent = unsent !== undefined;',
        replace: 'this.#provenUnsent = unsent !== undefined || error !== undefined;',
      },
      {
        file: 'lambdas/payments/use/find-out.ts',
        find: "if (error instanceof AmbiguousError) return { kind: 'no_response' };\n    throw error;",
        replace:
          "if (error instanceof AmbiguousError && sent === 'maybe') return { kind: 'no_response' };\n    throw error;",
      },
    ],
  },
  {
    name: 'callback-acknowledged-unread',
    fault: 'A callback about an unknown charge is acknowledged but not stored.',
    edits: [
      {
        file: 'lambdas/payments/store/dynamodb-effects.ts',
        find: 'if (orphan !== undefined) {',
        replace: 'if (orphan !== undefined && adopted !== undefined) {',
      },
    ],
  },
  {
    name: 'callback-names-the-charge-only',
    fault: 'All callbacks about one charge count as one event.',
    edits: [
      {
        file: 'lambdas/callbacks/receive-callback.ts',
        find: 'callbackOperation(tools.digest, sourceOf(tools.books), event.eventId)',
        replace: 'callbackOperation(tools.digest, sourceOf(tools.books), event.chargeId)',
      },
    ],
  },
  {
    name: 'older-head-wins',
    fault: 'In the lists, an older event replaces the newer state of a payment.',
    edits: [
      {
        file: 'lambdas/views/use/project-event.ts',
        find: "if (found !== undefined && found.sequence >= head.sequence) return 'newer';",
        replace: "if (found !== undefined && found.sequence === head.sequence) return 'newer';",
      },
    ],
  },
  {
    name: 'seen-before-its-rows',
    fault: 'An event counts as projected before its rows are written.',
    edits: [
      {
        file: 'lambdas/views/use/project-event.ts',
        find: '  await views.put(isFirst ? [...lasting, ...ofReference] : lasting);\n',
        replace:
          '  await views.put([eventViews.projectedMark]);\n  await views.put(isFirst ? [...lasting, ...ofReference] : lasting);\n',
      },
    ],
  },
  {
    name: 'rebuilt-counts-as-published',
    fault: 'A rebuild of the Views marks events that were never published as seen.',
    needs: ['rebuild'],
    edits: [
      {
        file: 'lambdas/views/use/rebuild-views.ts',
        find: 'for (const event of chainViews.events) await writeViews(this.#tools, event);',
        replace:
          'for (const event of chainViews.events) {\n      await writeViews(this.#tools, event);\n      await this.#tools.views.put([event.projectedMark]);\n    }',
      },
    ],
  },
  {
    name: 'day-not-reopened',
    fault: 'The total of a closed day lacks late entries.',
    edits: [
      {
        file: 'lambdas/views/use/project-event.ts',
        find: 'if (lasting.length > 0 && hasEnded) await reopenDay(',
        replace: 'if (lasting.length > 99 && hasEnded) await reopenDay(',
      },
    ],
  },
  {
    name: 'refused-entries-not-sent-again',
    fault: 'Entries that the bus rejected count as published.',
    edits: [
      {
        file: 'lambdas/events/use/relay-transitions.ts',
        find: "const isDone = outcome?.kind !== 'not_now' && (",
        replace: "const isDone = outcome?.kind === 'not_now' || (",
      },
      {
        file: 'lambdas/events/use/republish-lost-events.ts',
        find: 'const LOST_AFTER_MS = 3 * MINUTE_MS;',
        replace: 'const LOST_AFTER_MS = 90 * DAY_MS;',
      },
    ],
  },
  {
    name: 'mark-before-items',
    fault: 'The mark of published events moves past unpublished events.',
    needs: ['bus_outage|storm|faults'],
    edits: [
      {
        file: 'lambdas/events/use/republish-lost-events.ts',
        find: 'if (!isFinished) {',
        replace: 'if (!isFinished && places.length > 999) {',
      },
    ],
  },
  {
    name: 'deliveries-identified-by-time',
    fault: 'Two events of the same millisecond count as one delivery to an endpoint.',
    needs: ['endpoint'],
    edits: [
      {
        file: 'lambdas/webhooks/domain/webhook-delivery.ts',
        find: "JSON.stringify(['webhook_delivery', endpointId, message.eventId])",
        replace: "JSON.stringify(['webhook_delivery', endpointId, message.occurredAtMs])",
      },
    ],
  },
  {
    name: 'redirect-counts-as-delivered',
    fault: 'A webhook that the endpoint rejected counts as delivered.',
    needs: ['endpoint', 'receiver'],
    edits: [
      {
        file: 'lambdas/webhooks/domain/webhook-delivery.ts',
        find: 'return status !== undefined && status >= 200 && status < 300;',
        replace: 'return status !== undefined && status >= 200 && status < 600;',
      },
    ],
  },
  {
    name: 'crashed-attempt-forgotten',
    fault: 'A delivery whose sender crashed is never sent.',
    needs: ['endpoint', 'faults'],
    edits: [
      {
        file: 'lambdas/webhooks/domain/webhook-delivery.ts',
        find: 'return dueAtMs !== undefined && Math.max(dueAtMs, leaseExpiresAtMs) <= nowMs;',
        replace: 'return dueAtMs !== undefined && leaseExpiresAtMs === 0 && dueAtMs <= nowMs;',
      },
    ],
  },
  {
    name: 'attempt-zero-written',
    finding: 'B04',
    fault: 'If the merchant’s refund of an order fails later, the order gets rows that the row reader rejects.',
    needs: ['order', 'refund', 'fail_refund'],
    edits: [
      {
        file: 'lambdas/orders/domain/order-facts.ts',
        find: 'const { status, attempt, by } = order.charge;',
        replace: 'const { status, attempt = 0, by } = order.charge;',
      },
    ],
  },
  {
    name: 'goods-for-disputed-money',
    finding: 'B05',
    fault: 'Goods are delivered for disputed money, or for money with a pending refund.',
    needs: ['order', 'dispute|refund|foreign_refund'],
    edits: [
      {
        file: 'lambdas/orders/use/order-calls.ts',
        find: 'const { capturedMinor = 0, leftMinor = 0, pendingMinor = 0, disputedMinor = 0 } = money',
        replace:
          'const { capturedMinor = 0, leftMinor: left = 0, pendingMinor = 0, disputedMinor: disputed = 0 } = money',
      },
      {
        file: 'lambdas/orders/use/order-calls.ts',
        find: 'const amounts = { capturedMinor, leftMinor, pendingMinor, disputedMinor };',
        replace:
          'const amounts = { capturedMinor, leftMinor: left + pendingMinor + disputed, pendingMinor, disputedMinor: 0 };',
      },
    ],
  },
  {
    name: 'goods-for-money-disputed-in-part',
    fault: 'Goods are delivered although part of the money is disputed.',
    needs: ['order', 'dispute'],
    edits: [
      {
        file: 'lambdas/orders/domain/order-facts.ts',
        find: 'leftMinor <= 0 || disputedMinor > 0 ||',
        replace: 'leftMinor <= 0 || disputedMinor < 0 ||',
      },
    ],
  },
  {
    name: 'goods-for-less-than-the-order',
    fault: 'Goods are delivered although the processor captured less than the order costs.',
    needs: ['order', 'wrong_amount', 'decide'],
    edits: [
      {
        file: 'lambdas/orders/domain/order-facts.ts',
        find: 'capturedMinor < amountMinor);',
        replace: 'capturedMinor < Math.min(amountMinor, 0));',
      },
    ],
  },
  {
    name: 'goods-before-the-books-are-read',
    fault: 'An order accepts an operator’s decision before the processor’s books are read.',
    needs: ['order', 'wrong_amount', 'dispute|foreign_refund', 'decide'],
    edits: [
      {
        file: 'lambdas/orders/use/order-calls.ts',
        find: 'chain.state.decisions.size > 0)',
        replace: 'chain.state.decisions.size > 999)',
      },
    ],
  },
  {
    name: 'no-second-look-before-goods',
    finding: 'B05',
    fault: 'An order does not read its payment a second time before it notifies the customer.',
    needs: ['order', 'dispute|refund|foreign_refund'],
    edits: [
      {
        file: 'lambdas/orders/use/drive-order.ts',
        find: 'if (EFFECTS.has(call) && !(await this.#isPaid())) return;',
        replace: 'if (EFFECTS.has(call) && this.#drafts.length > 999 && !(await this.#isPaid())) return;',
      },
    ],
  },
  {
    name: 'goods-not-released',
    fault: 'A canceled order keeps its reservation.',
    needs: ['order'],
    edits: [
      {
        file: 'lambdas/orders/domain/order-steps.ts',
        find: "return status === 'none' || status === 'refused' || status === 'released';",
        replace: "return status !== 'pending';",
      },
      {
        file: 'lambdas/orders/domain/order-steps.ts',
        find: "if (status === 'given_up' || status === 'pending' || status === 'reserved') {",
        replace: "if (status === 'pending') {",
      },
    ],
  },
  {
    name: 'order-not-opened-again',
    fault: 'An order keeps the money when its refund fails days after the cancellation.',
    needs: ['order', 'fail_refund|close_dispute'],
    edits: [
      {
        file: 'lambdas/payments/use/queued-with.ts',
        find: "type === 'refund.failed' || (subject?.kind === 'dispute' && subject.status === 'won')",
        replace: "type === 'refund.failed' && subject?.kind === 'dispute' && subject.status === 'won'",
      },
    ],
  },
  {
    name: 'order-in-review-stays-closed',
    fault: 'An order that is no longer watched stays in review after the decision about its payment.',
    needs: ['order', 'wrong_amount', 'decide'],
    edits: [
      {
        file: 'lambdas/payments/use/queued-with.ts',
        find: "return status === 'needs_review' && payment.status !== 'needs_review';",
        replace: "return status === 'needs_review' && payment.status === 'processing';",
      },
    ],
  },
  {
    name: 'review-counted-from-the-order',
    fault: 'An order in review is watched for thirty days from its creation instead of from its review.',
    needs: ['order', 'wrong_amount'],
    edits: [
      {
        file: 'lambdas/resolving/use/resolve-orders.ts',
        find: 'Math.max(reviewedAtMs, open.createdAtMs)',
        replace: 'Math.min(reviewedAtMs, open.createdAtMs)',
      },
    ],
  },
  {
    name: 'receipt-without-second-look',
    fault: 'A delayed message sends a receipt for a payment that has since been refunded.',
    needs: ['pay'],
    edits: [
      {
        file: 'lambdas/orders/use/receipt-again.ts',
        find: 'isReceiptDue(chain) ? send()',
        replace: 'chain.transitions.length > 0 ? send()',
      },
    ],
  },
  {
    name: 'sent-email-counts-as-failed',
    fault:
      'A redelivered message that makes no call because the money is gone assumes that no earlier delivery made the call.',
    needs: ['order'],
    edits: [
      {
        file: 'lambdas/outbound/use/delayed-call.ts',
        find: 'isRepeated && result.isUnmade === true',
        replace: '!isRepeated && result.isUnmade === true',
      },
    ],
  },
  {
    name: 'canceled-order-still-promises',
    fault: 'If the response to its referral credit was lost, a canceled order shows the credit as due forever.',
    needs: ['order'],
    edits: [
      {
        file: 'lambdas/orders/domain/order-steps.ts',
        find: 'if (ANNOUNCED_STATUSES.has(referral.status))',
        replace: 'if (ANNOUNCED_STATUSES.has(referral.status) && order.failure === undefined)',
      },
    ],
  },
  {
    name: 'redriven-dead-letter-not-recorded',
    finding: 'B12',
    fault: 'An order does not record that its dead letter was redriven successfully.',
    needs: ['order', 'redrive'],
    edits: [
      {
        file: 'lambdas/orders/use/call-for-order-again.ts',
        find: 'await recordFacts(tools, orderId, [fact], cause)',
        replace: 'await recordFacts(tools, orderId, [fact].slice(1), cause)',
      },
    ],
  },
  {
    name: 'job-messages-add-up',
    fault: 'Each duplicate of a waiting run’s message is forwarded.',
    edits: [
      {
        file: 'lambdas/jobs/use/work-run.ts',
        find: 'if (receives <= 1 && !isOfPage',
        replace: 'if (receives <= 0 && !isOfPage',
      },
    ],
  },
  {
    name: 'order-review-without-alarm',
    fault: 'An order that needs an operator raises no alarm.',
    needs: ['order'],
    edits: [
      {
        file: 'lambdas/orders/use/drive-order.ts',
        find: "drafts.find(({ type }) => type === 'order.review_required')",
        replace: "drafts.find(({ type }) => type === 'order.placed')",
      },
    ],
  },
];
