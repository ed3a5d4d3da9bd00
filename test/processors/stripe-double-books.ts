import {
  type DoubleError,
  type DoubleFee,
  type DoubleIntent,
  type DoubleRefund,
  listOf,
  renderIntent,
  renderRefund,
} from './stripe-double-objects.ts';

export type Params = Readonly<Record<string, string>>;

export interface DoubleAnswer {
  readonly status: number;
  readonly body: object;
  /** Whether the endpoint started executing. Only then is the result stored under the idempotency key. */
  readonly began: boolean;
}

export interface BooksOptions {
  readonly nowMs: () => number;
  /** Delay until the search finds a new intent, in milliseconds. */
  readonly searchLagMs: number;
  /** Fee of every charge, in the charge's currency. Undefined as long as Stripe has not booked the fee. */
  readonly fee: number | undefined;
}

const METADATA = /^metadata\[(\w+)\]$/;
const SEARCH = /^metadata\['(\w+)'\]:'([^']*)'$/;
const HUNDREDS = new Set(['isk', 'ugx']);
const TENS = new Set(['bhd', 'jod', 'kwd', 'omr', 'tnd']);

/** Declined test payment methods that the double supports (Stripe documentation: "Testing", tab "PaymentMethods"). */
const DECLINES: Readonly<Record<string, string>> = {
  pm_card_visa_chargeDeclined: 'generic_decline',
  pm_card_visa_chargeDeclinedInsufficientFunds: 'insufficient_funds',
};
const DECLINE_MESSAGES: Readonly<Record<string, string>> = {
  insufficient_funds: 'Your card has insufficient funds.',
  authentication_required: 'Your card was declined. This transaction requires authentication.',
};
const APPROVALS = new Set(['pm_card_authenticationRequired', 'pm_card_threeDSecure2Required']);
const CARDS = new Set(['pm_card_visa', 'pm_card_pendingRefund', 'pm_card_refundFail']);
const LATER = new Set(['pm_usBankAccount_success']);

/** Follows Stripe's documented rules, without HTTP and without idempotency keys. */
export class StripeDoubleBooks {
  readonly intents = new Map<string, DoubleIntent>();
  readonly #options: BooksOptions;
  #made = 0;

  constructor(options: BooksOptions) {
    this.#options = options;
  }

  answer(method: string, path: string, params: Params): DoubleAnswer {
    const [resource, id, action] = path.replace(/^\/v1\//, '').split('/');
    if (resource === 'payment_intents' && method === 'POST') {
      if (id === undefined) return this.#create(params);
      const intent = this.intents.get(id);
      if (intent === undefined) return missing(404, `No such payment_intent: '${id}'`, 'intent');
      return action === 'capture' ? this.#capture(intent, params) : this.#cancel(intent, params);
    }
    if (resource === 'payment_intents') {
      if (id === undefined) return this.#list(params);
      if (id === 'search') return this.#search(params);
      const intent = this.intents.get(id);
      if (intent === undefined) return missing(404, `No such payment_intent: '${id}'`, 'intent');
      return { status: 200, body: renderIntent(intent, expandOf(params)), began: true };
    }
    if (resource === 'refunds') return method === 'POST' ? this.#refund(params) : this.#listParts('refunds', params);
    if (resource === 'disputes') return this.#listParts('disputes', params);
    return invalid(404, { message: `Unrecognized request URL (${method}: ${path}).` });
  }

  #create(params: Params): DoubleAnswer {
    const amount = Number(params['amount']);
    const currency = params['currency'] ?? '';
    const wrong = wrongAmount(amount, currency);
    if (wrong !== undefined) return wrong;
    const method = params['payment_method'] ?? '';
    const known = CARDS.has(method) || LATER.has(method) || APPROVALS.has(method) || DECLINES[method] !== undefined;
    if (!known) return missing(400, `No such PaymentMethod: '${method}'`, 'payment_method');
    const redirects = params['automatic_payment_methods[allow_redirects]'] !== 'never';
    if (redirects && params['return_url'] === undefined) {
      return invalid(400, { message: 'You must provide a `return_url` when confirming.', param: 'return_url' });
    }
    const nowMs = this.#options.nowMs();
    const intent: DoubleIntent = {
      id: this.#id('pi'),
      amount,
      amount_received: 0,
      currency,
      capture_method: params['capture_method'] ?? 'automatic_async',
      payment_method: method,
      metadata: metadataOf(params),
      created: Math.floor(nowMs / 1_000),
      searchableAtMs: nowMs + this.#options.searchLagMs,
      status: 'requires_confirmation',
      cancellation_reason: null,
      last_payment_error: null,
      next_action: null,
      charge: undefined,
      refunds: [],
      disputes: [],
    };
    this.intents.set(intent.id, intent);
    return this.#confirm(intent, params);
  }

  #confirm(intent: DoubleIntent, params: Params): DoubleAnswer {
    const { payment_method: method } = intent;
    const decline = DECLINES[method];
    if (decline !== undefined) return this.#decline(intent, decline, expandOf(params));
    if (APPROVALS.has(method) && params['error_on_requires_action'] === 'true') {
      return this.#decline(intent, 'authentication_required', expandOf(params));
    }
    if (APPROVALS.has(method)) {
      intent.status = 'requires_action';
      const back = params['return_url'];
      intent.next_action =
        back === undefined
          ? { type: 'use_stripe_sdk', use_stripe_sdk: {} }
          : {
              type: 'redirect_to_url',
              redirect_to_url: { url: `https://hooks.stripe.com/3d_secure_2/${intent.id}`, return_url: back },
            };
    } else if (LATER.has(method)) {
      intent.status = 'processing';
    } else {
      this.#take(intent);
    }
    return { status: 200, body: renderIntent(intent, expandOf(params)), began: true };
  }

  #decline(intent: DoubleIntent, reason: string, expand: readonly string[]): DoubleAnswer {
    const error: DoubleError = {
      type: 'card_error',
      code: reason === 'authentication_required' ? reason : 'card_declined',
      decline_code: reason,
      message: DECLINE_MESSAGES[reason] ?? 'Your card was declined.',
    };
    intent.charge = { id: this.#id('ch'), fee: undefined };
    intent.status = 'requires_payment_method';
    intent.last_payment_error = error;
    intent.next_action = null;
    return { status: 402, body: { error: { ...error, payment_intent: renderIntent(intent, expand) } }, began: true };
  }

  /** Books the charge that the bank approved. */
  #take(intent: DoubleIntent): void {
    const { fee } = this.#options;
    intent.charge = {
      id: this.#id('ch'),
      fee: fee === undefined ? undefined : { fee, currency: intent.currency },
    };
    intent.next_action = null;
    const held = intent.capture_method === 'manual';
    intent.status = held ? 'requires_capture' : 'succeeded';
    intent.amount_received = held ? 0 : intent.amount;
  }

  #capture(intent: DoubleIntent, params: Params): DoubleAnswer {
    if (intent.status !== 'requires_capture') {
      return unexpectedState(
        intent,
        intent.status === 'succeeded'
          ? 'This PaymentIntent could not be captured because it has already been captured.'
          : `This PaymentIntent could not be captured because it has a status of ${intent.status}.`,
      );
    }
    const amount = Number(params['amount_to_capture'] ?? intent.amount);
    const wrong = wrongAmount(amount, intent.currency);
    if (wrong !== undefined) return wrong;
    if (amount > intent.amount) {
      return invalid(400, { code: 'amount_too_large', message: 'You cannot capture more than was authorized.' });
    }
    intent.status = 'succeeded';
    intent.amount_received = amount;
    return { status: 200, body: renderIntent(intent, expandOf(params)), began: true };
  }

  #cancel(intent: DoubleIntent, params: Params): DoubleAnswer {
    const open = ['requires_payment_method', 'requires_capture', 'requires_confirmation', 'requires_action'];
    if (!open.includes(intent.status)) {
      return unexpectedState(
        intent,
        `You cannot cancel this PaymentIntent because it has a status of ${intent.status}.`,
      );
    }
    intent.status = 'canceled';
    intent.cancellation_reason = params['cancellation_reason'] ?? null;
    intent.next_action = null;
    return { status: 200, body: renderIntent(intent, expandOf(params)), began: true };
  }

  #refund(params: Params): DoubleAnswer {
    const intent = this.intents.get(params['payment_intent'] ?? '');
    if (intent === undefined) return missing(404, 'No such payment_intent', 'payment_intent');
    if (intent.charge === undefined || intent.status !== 'succeeded') {
      return unexpectedState(intent, 'This PaymentIntent does not have a successful charge to refund.');
    }
    const gone = intent.refunds.filter(({ status }) => status !== 'failed' && status !== 'canceled');
    const left = intent.amount_received - gone.reduce((sum, { amount }) => sum + amount, 0);
    if (left === 0) {
      const message = `Charge ${intent.charge.id} has already been refunded.`;
      return invalid(400, { code: 'charge_already_refunded', message }, true);
    }
    const amount = Number(params['amount'] ?? left);
    const wrong = wrongAmount(amount, intent.currency);
    if (wrong !== undefined) return wrong;
    if (amount > left) {
      const message = `Refund amount (${amount}) is greater than unrefunded amount on charge (${left})`;
      return invalid(400, { message, param: 'amount' });
    }
    const refund: DoubleRefund = {
      id: this.#id('re'),
      object: 'refund',
      amount,
      currency: intent.currency,
      charge: intent.charge.id,
      payment_intent: intent.id,
      created: Math.floor(this.#options.nowMs() / 1_000),
      metadata: metadataOf(params),
      status: intent.payment_method === 'pm_card_pendingRefund' ? 'pending' : 'succeeded',
      fees: [{ fee: 0, currency: intent.currency }],
    };
    intent.refunds.push(refund);
    return { status: 200, body: renderRefund(refund, expandOf(params)), began: true };
  }

  #list(params: Params): DoubleAnswer {
    const from = Number(params['created[gte]'] ?? 0);
    const until = Number(params['created[lt]'] ?? Number.POSITIVE_INFINITY);
    const within = [...this.intents.values()].filter(({ created }) => created >= from && created < until).toReversed();
    return page(within, params, (intent) => renderIntent(intent, expandOf(params, 'data.')));
  }

  #listParts(kind: 'refunds' | 'disputes', params: Params): DoubleAnswer {
    const intent = this.intents.get(params['payment_intent'] ?? '');
    if (kind === 'disputes') return page(intent?.disputes.toReversed() ?? [], params, (dispute) => dispute);
    const expand = expandOf(params, 'data.');
    const all = [...this.intents.values()].flatMap(({ refunds }) => refunds);
    const refunds = 'payment_intent' in params ? (intent?.refunds ?? []) : all;
    return page(refunds.toReversed(), params, (refund) => renderRefund(refund, expand));
  }

  #search(params: Params): DoubleAnswer {
    const [, name = '', value = ''] = SEARCH.exec(params['query'] ?? '') ?? [];
    if (name === '') return invalid(400, { message: 'We were unable to parse your search query.', param: 'query' });
    const nowMs = this.#options.nowMs();
    const found = [...this.intents.values()]
      .filter(({ searchableAtMs }) => searchableAtMs <= nowMs)
      .filter(({ metadata }) => metadata[name]?.toLowerCase() === value.toLowerCase())
      .toReversed();
    const limit = Number(params['limit'] ?? 10);
    const data = found.slice(0, limit).map((intent) => renderIntent(intent, expandOf(params, 'data.')));
    const hasMore = found.length > limit;
    return { status: 200, body: { object: 'search_result', data, has_more: hasMore, next_page: null }, began: true };
  }

  // ------------------------------------------------------------------------ changes at Stripe without an API call

  /** The payer approves or refuses, or the bank reports the outcome of an asynchronous payment. */
  settle(intentId: string, how: 'approved' | 'refused'): void {
    const intent = this.#known(intentId);
    if (how === 'approved') this.#take(intent);
    else this.#decline(intent, 'generic_decline', []);
  }

  /** Cancels an authorization that was not captured in time, as Stripe does. */
  expire(intentId: string): void {
    const intent = this.#known(intentId);
    intent.status = 'canceled';
    intent.cancellation_reason = 'automatic';
  }

  /** Refunds the uncaptured money of a hold, as Stripe does for clients with an API version before 2025-03-31. */
  refundUncaptured(intentId: string): void {
    const intent = this.#known(intentId);
    const { amount, amount_received: captured, currency, created, charge, refunds } = intent;
    const reversal = { fee: -21, currency, reporting_category: 'partial_capture_reversal' };
    refunds.push({
      id: this.#id('re'),
      object: 'refund',
      amount: amount - captured,
      currency,
      charge: charge?.id ?? '',
      payment_intent: intentId,
      created,
      metadata: {},
      status: 'succeeded',
      fees: captured > 0 ? [reversal] : [],
    });
  }

  /** @param fees the fees of one refund: one for the refund itself and, if the refund failed, one for the failure */
  bookRefunds(intentId: string, ...fees: readonly DoubleFee[]): void {
    for (const refund of this.#known(intentId).refunds) refund.fees = [...fees];
  }

  failRefund(refundId: string): void {
    const refund = [...this.intents.values()].flatMap(({ refunds }) => refunds).find(({ id }) => id === refundId);
    if (refund === undefined) throw new Error(`there is no refund ${refundId}`);
    refund.status = 'failed';
    refund.failure_reason = 'lost_or_stolen_card';
  }

  /** The fee may be booked later than the charge. */
  bookFee(intentId: string, fee: DoubleFee): void {
    const intent = this.#known(intentId);
    if (intent.charge === undefined) throw new Error('the intent has no charge, so it cannot have a fee');
    intent.charge = { ...intent.charge, fee };
  }

  /** Returns the id of the dispute. @param inCurrency by default, the charge's currency */
  dispute(
    intentId: string,
    amount: number,
    status: string,
    inCurrency?: string,
    fees: readonly DoubleFee[] = [],
  ): string {
    const intent = this.#known(intentId);
    if (intent.charge === undefined) throw new Error('the intent has no charge, so it cannot be disputed');
    const { currency, charge } = intent;
    const id = this.#id('dp');
    intent.disputes.push({
      id,
      object: 'dispute',
      livemode: false,
      amount,
      currency: inCurrency ?? currency,
      charge: charge.id,
      payment_intent: intentId,
      status,
      balance_transactions: [...fees],
    });
    return id;
  }

  #known(intentId: string): DoubleIntent {
    const intent = this.intents.get(intentId);
    if (intent === undefined) throw new Error(`there is no intent ${intentId}`);
    return intent;
  }

  #id(prefix: string): string {
    this.#made += 1;
    return `${prefix}_3Double${String(this.#made).padStart(6, '0')}`;
  }
}

function page<Item extends { readonly id: string }>(
  items: readonly Item[],
  params: Params,
  render: (item: Item) => object,
): DoubleAnswer {
  const after = items.findIndex(({ id }) => id === params['starting_after']);
  const limit = Number(params['limit'] ?? 10);
  const rest = items.slice(after + 1);
  return { status: 200, body: listOf(rest.slice(0, limit).map(render), rest.length > limit), began: true };
}

function metadataOf(params: Params): Record<string, string> {
  return Object.fromEntries(
    Object.entries(params).flatMap(([field, value]) => {
      const name = METADATA.exec(field)?.[1];
      return name === undefined ? [] : [[name, value]];
    }),
  );
}

function expandOf(params: Params, prefix = ''): readonly string[] {
  return Object.entries(params)
    .filter(([field, path]) => field.startsWith('expand[') && path.startsWith(prefix))
    .map(([, path]) => path.slice(prefix.length));
}

function wrongAmount(amount: number, currency: string): DoubleAnswer | undefined {
  if (!Number.isSafeInteger(amount) || amount < 1) {
    return invalid(400, { code: 'parameter_invalid_integer', message: 'Invalid integer', param: 'amount' });
  }
  if (HUNDREDS.has(currency) && amount % 100 !== 0) {
    const code = 'invalid_charge_amount_no_decimal_compatible';
    return invalid(400, { code, message: `Currency ${currency} has become effectively zero-decimal.` });
  }
  if (TENS.has(currency) && amount % 10 !== 0) {
    return invalid(400, { message: `Amounts in ${currency} must end in 0.`, param: 'amount' });
  }
  return undefined;
}

function invalid(status: number, error: Omit<DoubleError, 'type'>, began = false): DoubleAnswer {
  return { status, body: { error: { type: 'invalid_request_error', ...error } }, began };
}

function missing(status: number, message: string, param: string): DoubleAnswer {
  return invalid(status, { code: 'resource_missing', message, param });
}

function unexpectedState(intent: DoubleIntent, message: string): DoubleAnswer {
  const error = { type: 'invalid_request_error', code: 'payment_intent_unexpected_state', message };
  return { status: 400, body: { error: { ...error, payment_intent: renderIntent(intent, []) } }, began: true };
}
