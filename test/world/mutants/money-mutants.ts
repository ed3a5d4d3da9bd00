import type { Mutant } from './mutant.ts';

/** Planted faults in payments, changes, returns and decisions. */
export const MONEY_MUTANTS: readonly Mutant[] = [
  {
    name: 'returns-ignore-disputes',
    finding: 'B01',
    fault: 'A stray charge is returned in full although a dispute has blocked or taken the money.',
    needs: ['dispute'],
    edits: [
      {
        file: 'lambdas/resolving/use/return-charges.ts',
        find: 'if (money.leftMinor > 0) {',
        replace: 'if (money.leftMinor + money.disputedMinor > 0) {',
      },
      {
        file: 'lambdas/resolving/use/return-charges.ts',
        find: 'order(returns.length + 1, money.leftMinor, money.currency)',
        replace: 'order(returns.length + 1, money.leftMinor + money.disputedMinor, money.currency)',
      },
      {
        file: 'lambdas/payments/use/queued-with.ts',
        find: '(moneyOf(chargeId, state)?.leftMinor ?? 0) > 0',
        replace: '(moneyOf(chargeId, state)?.capturedMinor ?? 0) > 0',
      },
      {
        file: 'lambdas/payments/use/before-send.ts',
        find: "    case 'refund':\n      return (",
        replace: "    case 'refund':\n      return operationId.startsWith('rtn_') || (",
      },
    ],
  },
  {
    name: 'pending-return-shares-its-key',
    fault:
      'While a return is pending, a second return of the same amount is sent under the idempotency key of the first.',
    needs: ['dispute', 'contradict'],
    edits: [
      {
        file: 'lambdas/resolving/use/return-charges.ts',
        find: 'order(returns.length + 1, money.leftMinor, money.currency)',
        replace:
          "order(returns.filter(({ status }) => status !== 'pending').length + 1, money.leftMinor, money.currency)",
      },
    ],
  },
  {
    name: 'refund-sent-after-dispute',
    finding: 'B02',
    fault: 'The refund of a crashed owner is sent although a dispute has taken the money since the crash.',
    needs: ['refund', 'dispute|foreign_refund|flood'],
    edits: [
      {
        file: 'lambdas/payments/use/before-send.ts',
        find: "    case 'refund':\n      return (",
        replace: "    case 'refund':\n      return operationId.startsWith('ref_') || (",
      },
    ],
  },
  {
    name: 'no-look-before-refund',
    finding: 'B02',
    fault: 'A later owner of a refund sends the refund without reading the processor’s books.',
    needs: ['refund', 'dispute|foreign_refund|flood'],
    edits: [
      {
        file: 'lambdas/payments/use/find-out-change.ts',
        find: 'mayBeSent: async () => maySend(order, await readCharge()),',
        replace: "mayBeSent: async () => underway.sent !== 'nothing' || maySend(order, await readCharge()),",
      },
    ],
  },
  {
    name: 'parts-rely-on-the-callback',
    fault:
      'When the facts of a charge are recorded in parts, no inquiry is queued for the remaining parts, and the callback may not be redelivered.',
    needs: ['flood'],
    edits: [
      {
        file: 'lambdas/payments/use/record-charge.ts',
        find: 'isMore ? [booksInquiry(chain.first.payment.id, nowMs)] : []',
        replace: '[booksInquiry(chain.first.payment.id, nowMs)].slice(1)',
      },
    ],
  },
  {
    name: 'failed-return-not-queued',
    finding: 'B03',
    fault: 'A return is not queued again if it fails later at the bank, or after a dispute of its charge is won.',
    needs: ['fail_refund|close_dispute|contradict'],
    edits: [
      {
        file: 'lambdas/payments/use/queued-with.ts',
        find: "subject !== undefined && 'chargeId' in subject ? [subject.chargeId] : []",
        replace: "subject?.kind === 'stray_charge' ? [subject.chargeId] : []",
      },
    ],
  },
  {
    name: 'decision-without-look-at-books',
    finding: 'B06',
    fault: 'After an operator’s decision the processor’s books are not compared.',
    needs: ['decide'],
    edits: [
      {
        file: 'lambdas/operators/use/keyed-effect.ts',
        find: '...(effect.inquiry === undefined ? [] : [effect.inquiry(transition)]),',
        replace: '...(effect.inquiry === undefined ? [] : [effect.inquiry(transition)].slice(1)),',
      },
    ],
  },
  {
    name: 'decision-names-stray',
    finding: 'B06',
    fault: 'A charge that an operator named as the payment’s own is returned as a stray charge.',
    needs: ['stray', 'decide'],
    edits: [
      {
        file: 'lambdas/operators/domain/operator-decision.ts',
        find: 'if (state.strayCharges.has(charged)) {',
        replace: 'if (state.strayCharges.has(charged) && chargeId === undefined) {',
      },
    ],
  },
  {
    name: 'decision-books-more',
    finding: 'B06',
    fault: 'An operator can post more than the payment’s amount.',
    needs: ['decide'],
    edits: [
      {
        file: 'lambdas/operators/domain/operator-decision.ts',
        find: 'if (amountMinor > payment.amountMinor) {',
        replace: 'if (amountMinor > payment.amountMinor * 1_000) {',
      },
    ],
  },
  {
    name: 'foreign-refund-not-queued',
    finding: 'B07',
    fault: 'A pending refund that was created at the processor is not looked up when its callback is lost.',
    needs: ['foreign_refund'],
    edits: [
      {
        file: 'lambdas/payments/use/queued-with.ts',
        find: 'return isForeign ? [',
        replace: 'return isForeign && newest === before.first ? [',
      },
    ],
  },
  {
    name: 'open-dispute-not-queued',
    finding: 'B07',
    fault: 'An open dispute is not looked up when the callback about its outcome is lost.',
    needs: ['dispute'],
    edits: [
      {
        file: 'lambdas/payments/use/queued-with.ts',
        find: "if (subject?.kind === 'dispute' && subject.status === 'open') return",
        replace: "if (subject?.kind === 'dispute' && subject.status === 'open' && subject.amountMinor < 0) return",
      },
    ],
  },
  {
    name: 'open-object-not-queued',
    fault: 'A charge, refund or dispute that is open at the processor but not in the chain is in no queue.',
    edits: [
      {
        file: 'lambdas/payments/use/untracked-entries.ts',
        find: 'isOpenUntracked(charge, state) ?',
        replace: 'isOpenUntracked(charge, state) && nowMs < 0 ?',
      },
    ],
  },
  {
    name: 'inquiry-ends-while-the-charge-is-open',
    fault:
      'The inquiry about a charge ends before the charge, its refund or its dispute has an outcome at the processor.',
    edits: [
      {
        file: 'lambdas/resolving/use/resolve.ts',
        find: 'return isOpen(charge, after.state) ?',
        replace: 'return isOpenInChain(charge.chargeId, after.state) ?',
      },
    ],
  },
  {
    name: 'look-up-below-refunds',
    finding: 'B08',
    fault: 'The look-up of a charge with many refunds fails because the processor’s response is too long.',
    needs: ['flood'],
    edits: [
      {
        file: 'lambdas/processors/sandbox/sandbox-change.ts',
        find: '  const charge = parse(chargeAnswer, answer);\n  assertSameCharge(order, charge);\n  const fact = factOfChange(order, charge);\n  return',
        replace:
          "  if (answer.text.length > 16000) throw mismatch('The answer is too long.');\n  const charge = parse(chargeAnswer, answer);\n  assertSameCharge(order, charge);\n  const fact = factOfChange(order, charge);\n  return",
      },
      {
        file: 'lambdas/processors/sandbox/sandbox-books.ts',
        find: 'if (answer.status !== 200) throw statusFault(answer, clock.nowMs());\n      return',
        replace:
          'if (answer.status !== 200 || answer.text.length > 16000) throw statusFault(answer, clock.nowMs());\n      return',
      },
    ],
  },
  {
    name: 'breaker-of-the-default',
    finding: 'B09',
    fault: 'While the breaker of the first processor is open, payments at another processor are not completed.',
    needs: ['processor_outage', 'deploy'],
    edits: [
      {
        file: 'lambdas/resolving/use/resolve.ts',
        find: 'const processor = pinnedProcessor(allTools, first) ?? allTools.processor;',
        replace: 'const processor = knownProcessors(allTools)[0] ?? allTools.processor;',
      },
      {
        file: 'lambdas/payments/use/create-payment.ts',
        find: 'await readiness(pinnedProcessor(tools, first) ?? this.#chosen());',
        replace: 'if (first.sequence === 1) await readiness(this.#chosen());',
      },
    ],
  },
  {
    name: 'former-processor-unreachable',
    finding: 'B10',
    fault: 'After a change of the routes, the former processor of a payment is no longer called.',
    needs: ['deploy', 'deploy'],
    edits: [
      {
        file: 'lambdas/payments/use/pinned-processor.ts',
        find: 'return knownProcessors(tools).find(',
        replace: "return (typeof tools.processor === 'string' ? [] : [tools.processor]).find(",
      },
    ],
  },
  {
    name: 'all-facts-in-one-transaction',
    finding: 'B11',
    fault: 'If a charge has more new facts than fit into one transaction, the facts are never recorded.',
    needs: ['flood'],
    edits: [
      {
        file: 'lambdas/payments/use/record-charge.ts',
        find: 'const MAX_TRANSITIONS_PER_WRITE = 40;',
        replace: 'const MAX_TRANSITIONS_PER_WRITE = 4_000;',
      },
    ],
  },
  {
    name: 'capture-of-wrong-amount-failed',
    finding: 'B13',
    fault: 'A capture that charged a different amount is reported as failed, although money was charged.',
    needs: ['wrong_amount', 'capture'],
    edits: [
      {
        file: 'lambdas/payments/domain/change-answer.ts',
        find: "const isInReview = payment.status === 'needs_review';",
        replace: "const isInReview = payment.status === 'needs_review' && change.kind === 'void';",
      },
    ],
  },
  {
    name: 'chain-shorter-than-refunds',
    finding: 'B14',
    fault: 'A payment with many refunds can exceed the maximum length of a chain.',
    needs: ['flood'],
    edits: [
      {
        file: 'lambdas/payments/use/payment-chain.ts',
        find: 'const MAX_PAGES = 40;',
        replace: 'const MAX_PAGES = 1;',
      },
      { file: 'lambdas/payments/use/payment-chain.ts', find: 'const PAGE = 250;', replace: 'const PAGE = 100;' },
    ],
  },
  {
    name: 'pending-refunds-not-reserved',
    fault: 'A pending refund does not reserve its amount.',
    needs: ['refund', 'refund'],
    edits: [
      {
        file: 'lambdas/payments/domain/charge-money.ts',
        find: 'capturedMinor - refundedMinor - pendingMinor - disputedMinor,',
        replace: 'capturedMinor - refundedMinor - disputedMinor,',
      },
    ],
  },
  {
    name: 'hold-changes-together',
    fault: 'A capture and a cancellation of one hold can be in progress at the same time.',
    needs: ['capture|cancel', 'capture|cancel'],
    edits: [
      {
        file: 'lambdas/payments/domain/change.ts',
        find: 'return sums.holdChanges > 0;',
        replace: 'return sums.holdChanges > 9;',
      },
    ],
  },
  {
    name: 'send-window-left-open',
    fault: 'A payment is sent hours after its claim.',
    edits: [
      {
        file: 'lambdas/payments/domain/settlement.ts',
        find: 'return nowMs > claimedAtMs + SEND_WINDOW_MS;',
        replace: 'return nowMs > claimedAtMs + SEND_WINDOW_MS * 100;',
      },
    ],
  },
  {
    name: 'absence-believed-at-once',
    fault: 'A look-up without a result counts as proof of absence although the processor’s books lag.',
    edits: [
      {
        file: 'lambdas/payments/domain/settlement.ts',
        find: 'const proven = state.nowMs >= state.claimedAtMs + SEND_WINDOW_MS + ABSENCE_PROOF_MS + lagMs;',
        replace:
          'const proven = state.nowMs >= state.claimedAtMs + (SEND_WINDOW_MS + ABSENCE_PROOF_MS + lagMs) / 1_000;',
      },
      {
        file: 'lambdas/payments/domain/settlement.ts',
        find: 'if (windowClosed) return concludeAfterWindow(state);',
        replace: "if (windowClosed || state.lookedUp === 'absent') return concludeAfterWindow(state);",
      },
    ],
  },
  {
    name: 'takeover-takes-nothing-for-sent',
    fault: 'The next owner of a stale claim assumes that nothing was sent, and records the payment as not attempted.',
    edits: [
      {
        file: 'lambdas/once/use/execute-once.ts',
        find: "return this.#takeOver(owner, claimedAtMs, released ? 'nothing' : 'maybe', earlier);",
        replace: "return this.#takeOver(owner, claimedAtMs, released ? 'nothing' : 'nothing');",
      },
    ],
  },
  {
    name: 'payment-inquiry-forgotten',
    fault: 'A payment with a 202 response is in no queue.',
    edits: [
      {
        file: 'lambdas/payments/use/create-payment.ts',
        find: '...(isAwaited(payment) ? [',
        replace: '...(isAwaited(payment) && payment.amountMinor < 0 ? [',
      },
    ],
  },
  {
    name: 'change-inquiry-forgotten',
    fault: 'A refund, capture or cancellation with a 202 response is in no queue.',
    edits: [
      {
        file: 'lambdas/payments/use/change-payment.ts',
        find: '...(unknown ? [{ operationId',
        replace: '...(unknown && nowMs < 0 ? [{ operationId',
      },
    ],
  },
  {
    name: 'hold-not-queued',
    fault: 'A hold is not queued, so it is never voided if it is not captured.',
    edits: [
      {
        file: 'lambdas/payments/use/queued-with.ts',
        find: "const authorized = transitions.find(({ type }) => type === 'payment.authorized');",
        replace: "const authorized = transitions.find(({ type }) => type === 'payment.created');",
      },
    ],
  },
  {
    name: 'returns-more-than-shown',
    fault: 'A stray charge is returned although the processor’s books show less remaining money than the chain does.',
    edits: [
      {
        file: 'lambdas/payments/use/before-send.ts',
        find: 'change.amountMinor <= shownLeftMinor(charge, operationId)',
        replace: "(operationId.startsWith('rtn_') || change.amountMinor <= shownLeftMinor(charge, operationId))",
      },
    ],
  },
  {
    name: 'stray-not-queued',
    fault: 'A callback that records a stray charge does not queue the return.',
    edits: [
      {
        file: 'lambdas/payments/store/dynamodb-effects.ts',
        find: '...toReturn.map((charge) => returnItem(this.#tables, charge)),\n      ...inquiries.map((inquiry) => inquiryItem(this.#tables, inquiry)),\n    ];\n    if (',
        replace:
          '...toReturn.slice(9).map((charge) => returnItem(this.#tables, charge)),\n      ...inquiries.map((inquiry) => inquiryItem(this.#tables, inquiry)),\n    ];\n    if (',
      },
    ],
  },
  {
    name: 'return-closed-before-its-end',
    fault: 'A return leaves the queue while it is pending at the bank.',
    edits: [
      {
        file: 'lambdas/resolving/use/return-charges.ts',
        find: "return rest(money.pendingMinor > 0 ? 'waiting' : 'finished');",
        replace: "return rest(money.pendingMinor < 0 ? 'waiting' : 'finished');",
      },
      {
        file: 'lambdas/payments/use/queued-with.ts',
        find: "subject !== undefined && 'chargeId' in subject ? [subject.chargeId] : []",
        replace: "subject?.kind === 'stray_charge' ? [subject.chargeId] : []",
      },
    ],
  },
  {
    name: 'contradiction-without-alarm',
    fault: 'A fact that contradicts the payment raises no alarm.',
    needs: ['contradict|decide_change|trouble'],
    edits: [
      {
        file: 'lambdas/payments/use/raise-alarms.ts',
        find: 'if (because.length === 0) return;',
        replace: 'if (because.length < 1_000) return;',
      },
    ],
  },
  {
    name: 'contradiction-alarms-at-each-look',
    fault: 'Each inquiry that finds the same contradiction raises another alarm.',
    needs: ['contradict|decide|decide_change|trouble'],
    edits: [
      {
        file: 'lambdas/payments/use/raise-alarms.ts',
        find: "if (raised !== undefined && (foundBy === 'look' || call < 1)) return;\n  await alarmOnce(tools, { operationId: operation(call < 1 ? [] : [call]), paymentId }",
        replace:
          'await alarmOnce(tools, { operationId: operation(raised === undefined ? [] : [clock.nowMs()]), paymentId }',
      },
    ],
  },
  {
    name: 'contradiction-alarms-only-once',
    fault: 'A contradiction that recurs after the processor has corrected its books raises no alarm.',
    needs: ['contradict', 'contradict'],
    edits: [
      {
        file: 'lambdas/payments/use/raise-alarms.ts',
        find: "(foundBy === 'look' || call < 1)) return;",
        replace: "(foundBy === 'look' || call < 1_000_000)) return;",
      },
    ],
  },
  {
    name: 'late-success-without-alarm',
    fault: 'Late money raises no alarm.',
    edits: [
      {
        file: 'lambdas/payments/use/raise-alarms.ts',
        find: "if (transitions.some(({ subject }) => subject?.kind === 'stray_charge')) alarm",
        replace:
          "if (transitions.every(({ subject }) => subject?.kind === 'stray_charge') && transitions.length > 9) alarm",
      },
      {
        file: 'lambdas/events/use/relay-transitions.ts',
        find: "if (isLate) alarm('late_success', payment.id);",
        replace: '',
      },
    ],
  },
  {
    name: 'review-without-alarm-while-the-bus-is-away',
    fault: 'A payment that enters review while the bus accepts no events raises no alarm.',
    edits: [
      {
        file: 'lambdas/events/use/relay-transitions.ts',
        find: '  raiseAlarms(tools, records);\n  const prepared = await prepareAll(tools, records);',
        replace: '  const prepared = await prepareAll(tools, records);',
      },
      {
        file: 'lambdas/events/use/relay-transitions.ts',
        find: '  return { ...counts, ...redeliverFrom(records, stopped), ...oldestOf(events) };',
        replace:
          '  raiseAlarms(tools, records);\n  return { ...counts, ...redeliverFrom(records, stopped), ...oldestOf(events) };',
      },
    ],
  },
  {
    name: 'undecidable-without-alarm',
    fault: 'A return that the processor rejects, or an outcome that cannot be determined, raises no alarm.',
    edits: [
      {
        file: 'lambdas/resolving/use/process-entries.ts',
        find: "if (isUndecidable && !isMarked) alarm?.('undecidable', about);",
        replace: 'void alarm;',
      },
    ],
  },
  {
    name: 'charge-hidden-by-another',
    fault:
      'A payment whose own charge is pending is looked up only by its processor key, which finds a different charge of the same operation.',
    needs: ['stray'],
    edits: [
      {
        file: 'lambdas/resolving/use/resolve.ts',
        find: 'const another = chargeOfAnother(fact, chain);',
        replace: 'const another = chargeOfAnother(fact, chain) && undefined;',
      },
    ],
  },
  {
    name: 'differences-cancel-each-other-out',
    fault: 'The comparison of a payment’s books checks only the sums, not each charge.',
    needs: ['stray', 'dispute|foreign_refund'],
    edits: [
      {
        file: 'lambdas/reconciliation/domain/compare-books.ts',
        find: 'return postedMinor !== keptMinor(charge);',
        replace: 'return postedMinor !== keptMinor(charge) && false;',
      },
    ],
  },
  {
    name: 'correction-hides-differences',
    fault: 'After an operator corrects any account, the comparison of a payment’s books checks only the sums.',
    needs: ['stray', 'correct'],
    edits: [
      {
        file: 'lambdas/reconciliation/domain/compare-books.ts',
        find: 'corrections.some(({ postings }) => clearingLegs(postings).some(({ isFee }) => !isFee))',
        replace: 'corrections.some(({ postings }) => postings.length > 0)',
      },
    ],
  },
  {
    name: 'refund-of-an-unknown-charge-waits-without-alarm',
    fault: 'A refund of a charge that the processor does not know stays reserved without an alarm.',
    needs: ['decide'],
    edits: [
      {
        file: 'lambdas/resolving/use/resolve.ts',
        find: 'decideOn(now) ?? (isUnknown ? CHARGE_UNKNOWN : undefined)',
        replace: 'decideOn(now) ?? (isUnknown ? undefined : undefined)',
      },
    ],
  },
  {
    name: 'won-dispute-booked-twice',
    fault: 'The postings of a won dispute have the wrong sign.',
    needs: ['dispute'],
    edits: [
      {
        file: 'lambdas/payments/domain/bookings.ts',
        find: "return reversed(transfer('disputes', 'processor_clearing', amountMinor, currency));",
        replace: "return transfer('disputes', 'processor_clearing', amountMinor, currency);",
      },
    ],
  },
  {
    name: 'undone-refund-booked-twice',
    fault: 'The postings of a refund that fails after its success have the wrong sign.',
    needs: ['fail_refund'],
    edits: [
      {
        file: 'lambdas/payments/domain/bookings.ts',
        find: "return reversed(transfer(account, 'processor_clearing', amountMinor, currency));",
        replace: "return transfer(account, 'processor_clearing', amountMinor, currency);",
      },
    ],
  },
  {
    name: 'late-money-for-the-merchant',
    fault: 'Late money is posted as owed to the merchant instead of to the payer.',
    edits: [
      {
        file: 'lambdas/payments/domain/bookings.ts',
        find: "return transfer('processor_clearing', 'late_receipts', amountMinor, currency);",
        replace: "return transfer('processor_clearing', 'merchant_payable', amountMinor, currency);",
      },
    ],
  },
  {
    name: 'reference-freed-too-early',
    fault: 'Two successful payments can have the same reference.',
    needs: ['pay', 'pay'],
    edits: [
      {
        file: 'lambdas/payments/domain/payment.ts',
        find: "return payment.status === 'failed' || payment.status === 'canceled';",
        replace: "return payment.status !== 'succeeded';",
      },
    ],
  },
];
