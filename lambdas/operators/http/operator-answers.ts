import { problemAnswer } from '../../http/http-answer.ts';
import { payloadMismatch, replayed } from '../../http/keyed-request.ts';
import { problem } from '../../http/problems.ts';
import type { Answer } from '../../kernel/answer.ts';
import { shownAmount } from '../../kernel/currency.ts';
import type { AnnotationRefusal } from '../use/annotate-payment.ts';
import type { ComparisonRefusal } from '../use/compare-decision.ts';
import type { CorrectionRefusal } from '../use/correct-ledger.ts';
import type { DecisionRefusal } from '../use/decide-payment.ts';
import type { KeyedEffectOutcome } from '../use/keyed-effect.ts';

/** Also renders the response to a request that a second person approved. */
export function operatorAnswer(
  outcome: KeyedEffectOutcome<CorrectionRefusal | DecisionRefusal | AnnotationRefusal>,
  requestId: string,
): Answer {
  switch (outcome.kind) {
    case 'first':
      return outcome.answer;
    case 'replay':
      return replayed(outcome.answer);
    case 'payload_mismatch':
      return payloadMismatch(requestId);
    case 'not_found':
      return problemAnswer(problem('not_found', 'There is no such payment.'), requestId);
    case 'key_expired': {
      const detail =
        'A request with this Idempotency-Key has taken effect, and its response is no longer stored. Retrieve the payment.';
      return problemAnswer(problem('idempotency_key_expired', detail), requestId, {
        members: { payment_id: outcome.paymentId },
      });
    }
    case 'nothing_to_annotate': {
      const detail = 'annotates must be the sequence of a transition of this payment.';
      return problemAnswer(problem('invalid_request', detail, 'annotates'), requestId);
    }
    case 'nothing_to_reverse':
    case 'already_reversed':
    case 'unbalanced':
      return correctionRefusal(outcome, requestId);
    case 'not_in_review':
    case 'change_not_found':
    case 'change_ended':
    case 'change_too_young':
    case 'impossible':
    case 'charge_unnamed':
    case 'amount_unnamed':
      return decisionRefusal(outcome, requestId);
    case 'charge_not_shown':
    case 'amount_not_shown':
    case 'books_unreadable':
    case 'override_refused':
      return comparisonRefusal(outcome, requestId);
  }
}

function correctionRefusal(refusal: CorrectionRefusal, requestId: string): Answer {
  switch (refusal.kind) {
    case 'nothing_to_reverse': {
      const detail =
        'reverses must be the sequence of a transition of this payment. The transition must have postings.';
      return problemAnswer(problem('invalid_request', detail, 'reverses'), requestId);
    }
    case 'already_reversed': {
      const detail =
        'These postings were already reversed. To restore them, reverse the correction that reversed them.';
      return problemAnswer(problem('already_reversed', detail, 'reverses'), requestId, {
        members: { correction_id: refusal.correctionId },
      });
    }
    case 'unbalanced': {
      const [more, less] = refusal.byMinor > 0 ? ['debits', 'credits'] : ['credits', 'debits'];
      const detail = `The ${more} exceed the ${less} by ${Math.abs(refusal.byMinor)} minor units.`;
      return problemAnswer(problem('unbalanced', detail, 'postings'), requestId);
    }
  }
}

function comparisonRefusal(refusal: ComparisonRefusal, requestId: string): Answer {
  switch (refusal.kind) {
    case 'charge_not_shown': {
      const detail =
        'The books of the payment’s processor contain no such charge. The charge’s metadata or the Ledger must name the payment.';
      return problemAnswer(problem('charge_unknown_at_processor', detail, 'charge_id'), requestId);
    }
    case 'amount_not_shown': {
      const { what, stated, shown } = refusal;
      const text = ({ amountMinor, currency }: typeof stated) => shownAmount(amountMinor, currency);
      const detail = `The processor shows ${text(shown)} ${what}, not ${text(stated)}.`;
      return problemAnswer(problem('amount_differs_from_processor', detail), requestId, {
        members: { processor_amount: shown.amountMinor, processor_currency: shown.currency },
      });
    }
    case 'books_unreadable': {
      const detail =
        'The books of the payment’s processor cannot be read, so nothing was compared. Try again later, or use override.';
      return problemAnswer(problem('processor_books_unreadable', detail), requestId);
    }
    case 'override_refused': {
      const detail =
        'override is allowed only if the processor’s books about the charge cannot be read. Remove override.';
      return problemAnswer(problem('override_not_allowed', detail, 'override'), requestId);
    }
  }
}

function decisionRefusal(refusal: Exclude<DecisionRefusal, ComparisonRefusal>, requestId: string): Answer {
  switch (refusal.kind) {
    case 'not_in_review': {
      const detail = `The payment’s status is ${refusal.status}. Only a payment that needs review can be decided.`;
      return problemAnswer(problem('payment_not_in_review', detail), requestId, {
        members: { payment_status: refusal.status },
      });
    }
    case 'change_not_found': {
      const detail = 'change must be the id of a refund, capture or cancellation of this payment.';
      return problemAnswer(problem('invalid_request', detail, 'change'), requestId);
    }
    case 'change_ended': {
      const detail = 'The outcome of the change is already known. Retrieve the payment.';
      return problemAnswer(problem('change_not_undecided', detail), requestId);
    }
    case 'change_too_young': {
      const fromSeconds = Math.ceil(refusal.fromMs / 1000);
      const time = new Date(fromSeconds * 1000).toISOString().replace('.000Z', 'Z');
      const detail = `Payonce may still determine the outcome of the change. Decide after ${time}.`;
      return problemAnswer(problem('change_not_undecided', detail), requestId, {
        members: { decidable_from: fromSeconds },
      });
    }
    case 'impossible':
      return problemAnswer(
        problem('change_not_undecided', `The decision is impossible: ${refusal.because}.`),
        requestId,
      );
    case 'charge_unnamed': {
      const detail = 'charge_id is missing: it must be the id of the charge at the processor.';
      return problemAnswer(problem('invalid_request', detail, 'charge_id'), requestId);
    }
    case 'amount_unnamed': {
      const detail = 'amount is missing: the captured amount differs from the requested one, so you must state it.';
      return problemAnswer(problem('invalid_request', detail, 'amount'), requestId);
    }
  }
}
