import { defined } from '../kernel/defined.ts';
import { AmbiguousError, TerminalError } from '../kernel/faults.ts';
import type { Clock, Entropy } from '../kernel/world.ts';
import { callWithRetries, type RetryTools, VENDOR_WAITS } from './call-with-retries.ts';
import { type BreakerSettings, createCircuitBreaker } from './circuit-breaker.ts';
import {
  type DeadLettered,
  isFault,
  type OnGivenUp,
  type OutboundCall,
  type OutboundObserver,
  type OutboundRead,
} from './outbound-calls.ts';
import { createRetryBudget } from './retry-budget.ts';
import type { DeadLetters } from './use/dead-letters.ts';

export interface OutboundPolicyOptions {
  /** In lower case, as the prefix of the vendor's fault codes. */
  readonly vendor: string;
  readonly clock: Clock;
  readonly entropy: Pick<Entropy, 'fraction'>;
  readonly observer: OutboundObserver;
  readonly deadLetters: DeadLetters;
  /** The time limit of one attempt. */
  readonly timeoutMs: number;
  /** @throws if the vendor is unavailable or does not respond within the limit */
  readonly probe: (limit: { readonly timeoutMs: number }) => Promise<void>;
  /** @default five consecutive failures open the breaker for 10 seconds */
  readonly breaker?: BreakerSettings;
  /** @default 500, 2,000 and 5,000 */
  readonly waitsMs?: readonly number[];
}

const DEFAULT_BREAKER: BreakerSettings = { consecutiveFailures: 5, openForMs: 10_000 };

/** A healthy vendor responds faster, because the check does no work. */
const PROBE_TIMEOUT_MS = 2_000;

/** Only this layer retries: adapters send once, and callers of the policy do not retry within their own request. */
export interface OutboundPolicy {
  readonly vendor: string;
  /**
   * Makes a call, and retries it where that is safe and the deadline allows it.
   *
   * @throws RetryableError if nothing was applied
   * @throws AmbiguousError if any of the attempts may have been applied
   * @throws TerminalError if a retry cannot help
   */
  call<T>(call: OutboundCall<T>): Promise<T>;
  /**
   * If the attempts of the call fail, stores it in a queue with this payload, as `givenUp` specifies.
   *
   * @throws as `call`, if the call is not stored
   */
  callOrDeadLetter<T>(
    call: OutboundCall<T>,
    payload: object,
    givenUp?: Exclude<OnGivenUp, 'throw'>,
  ): Promise<T | DeadLettered>;
  /** @throws as `call` */
  read<T>(read: OutboundRead<T>): Promise<T>;
}

/** The policy has its own breaker and retry budget, in this process. */
export function createOutboundPolicy(options: OutboundPolicyOptions): OutboundPolicy {
  const { vendor, clock, observer, deadLetters, probe } = options;
  const breaker = createCircuitBreaker({
    settings: options.breaker ?? DEFAULT_BREAKER,
    clock,
    party: vendor,
    probe: async () => {
      observer.count(vendor, 'outbound_probe');
      await probe({ timeoutMs: PROBE_TIMEOUT_MS });
    },
    isFailure: (error) => isVendorUnhealthy(vendor, error),
    onOpened: () => observer.count(vendor, 'outbound_breaker_opened'),
  });
  const tools: RetryTools = {
    vendor,
    clock,
    entropy: options.entropy,
    observer,
    breaker,
    budget: createRetryBudget(),
    timeoutMs: options.timeoutMs,
    probeTimeoutMs: PROBE_TIMEOUT_MS,
    waitsMs: options.waitsMs ?? VENDOR_WAITS.inProcessMs,
  };

  return {
    vendor,
    call: async (call) => {
      const end = await callWithRetries(tools, call, 'write');
      if (end.kind === 'gave_up') throw end.fault;
      return end.answer;
    },
    callOrDeadLetter: async (call, payload, givenUp = 'dead_letter') => {
      const end = await callWithRetries(tools, call, 'write');
      if (end.kind === 'answered') return end.answer;
      const { fault, attempts } = end;
      const isTerminal = fault instanceof TerminalError;
      if (givenUp === 'dead_letter_terminal' && !isTerminal) throw fault;
      const mayBeApplied = fault instanceof AmbiguousError || call.mayBeSent === true;
      const reason = fault.code;
      const { operation, about } = call;
      const named = defined({ about });
      const deadLetter = { vendor, operation, ...named, payload, attempts, reason, mayBeApplied };
      const isDelayed = givenUp === 'delay' && !isTerminal;
      try {
        await deadLetters.put(deadLetter, isDelayed ? 'delayed' : 'dead');
      } catch {
        // Throw the fault of the call instead of the queue's: it states whether the call may have been applied. The
        // caller's transport must redeliver the request.
        observer.count(vendor, 'outbound_dead_letter_failed');
        throw fault;
      }
      observer.count(vendor, isDelayed ? 'outbound_delayed' : 'outbound_dead_lettered');
      return { kind: isDelayed ? 'delayed' : 'dead_lettered', reason, mayBeApplied };
    },
    read: async (read) => {
      // A read has no effect, so it can be sent again like a call whose idempotency key the vendor recognizes.
      const end = await callWithRetries(tools, { ...read, idempotent: 'by_key' }, 'read');
      if (end.kind === 'gave_up') throw end.fault;
      return end.answer;
    },
  };
}

/** The vendor is unavailable, or denies access. A refusal of the call or a rate limit indicates neither. */
function isVendorUnhealthy(vendor: string, error: unknown): boolean {
  if (error instanceof AmbiguousError) return true;
  return isFault(error) && [`${vendor}_unreachable`, `${vendor}_unauthorized`].includes(error.code);
}
