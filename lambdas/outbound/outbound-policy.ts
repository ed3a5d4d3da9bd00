import { AmbiguousError, TerminalError } from '../kernel/faults.ts';
import type { Clock, Entropy } from '../kernel/world.ts';
import { type BreakerSettings, createCallGuard } from './circuit-breaker.ts';
import { climb, type LadderTools } from './ladder.ts';
import {
  type GivenUp,
  isFault,
  type OutboundCall,
  type OutboundObserver,
  type OutboundRead,
  type SetAside,
} from './outbound-calls.ts';
import { createRetryBudget } from './retry-budget.ts';
import type { DeadLetters } from './use/dead-letters.ts';

export interface OutboundPolicyOptions {
  /** In lower case; fault codes begin with it. */
  readonly vendor: string;
  readonly clock: Clock;
  readonly entropy: Pick<Entropy, 'fraction'>;
  readonly observer: OutboundObserver;
  readonly deadLetters: DeadLetters;
  /** For one call. Milliseconds. */
  readonly timeoutMs: number;
  /** A read of the vendor's health. @throws when it is not well, or after its limit */
  readonly probe: (limit: { readonly timeoutMs: number }) => Promise<void>;
  /** @default five failures in a row open the breaker for 10 seconds */
  readonly breaker?: BreakerSettings;
}

const DEFAULT_BREAKER: BreakerSettings = { consecutiveFailures: 5, openForMs: 10_000 };

/** A read that does nothing: later than this is a bad sign by itself. */
const PROBE_TIMEOUT_MS = 2_000;

/**
 * How every vendor is called, and the only layer that retries: adapters send once, and what is above this does not
 * try again within its own request.
 */
export interface OutboundPolicy {
  readonly vendor: string;
  /**
   * Makes a call, and makes it again where that is safe and there is time.
   *
   * @throws RetryableError when nothing was applied
   * @throws AmbiguousError when it may have been, by any of the attempts
   * @throws TerminalError when trying again cannot help
   */
  call<T>(call: OutboundCall<T>): Promise<T>;
  /**
   * The same; what would be thrown becomes a dead letter with this payload, or only what trying again cannot help.
   *
   * @throws as `call`, what is not set aside, and when that fails too
   */
  callOrSetAside<T>(call: OutboundCall<T>, payload: object, givenUp?: Exclude<GivenUp, 'throw'>): Promise<T | SetAside>;
  /** @throws as `call` */
  read<T>(read: OutboundRead<T>): Promise<T>;
}

/** One per process and vendor: breaker and retry budget are its memory. */
export function createOutboundPolicy(options: OutboundPolicyOptions): OutboundPolicy {
  const { vendor, clock, observer, deadLetters, probe } = options;
  const guard = createCallGuard({
    settings: options.breaker ?? DEFAULT_BREAKER,
    clock,
    party: vendor,
    probe: async () => {
      observer.count(vendor, 'outbound_probe');
      await probe({ timeoutMs: PROBE_TIMEOUT_MS });
    },
    isFailure: (error) => tellsOfTrouble(vendor, error),
    onOpened: () => observer.count(vendor, 'outbound_breaker_opened'),
  });
  const tools: LadderTools = {
    vendor,
    clock,
    entropy: options.entropy,
    observer,
    guard,
    budget: createRetryBudget(),
    timeoutMs: options.timeoutMs,
    probeTimeoutMs: PROBE_TIMEOUT_MS,
  };

  return {
    vendor,
    call: async (call) => {
      const end = await climb(tools, call, 'write');
      if (end.kind === 'gave_up') throw end.fault;
      return end.answer;
    },
    callOrSetAside: async (call, payload, givenUp = 'set_aside') => {
      const end = await climb(tools, call, 'write');
      if (end.kind === 'answered') return end.answer;
      const { fault, attempts } = end;
      if (givenUp === 'set_aside_terminal' && !(fault instanceof TerminalError)) throw fault;
      const mayBeApplied = fault instanceof AmbiguousError;
      const reason = fault.code;
      try {
        await deadLetters.put({ vendor, operation: call.operation, payload, attempts, reason, mayBeApplied });
      } catch {
        // The call's own fault says what may have happened; the caller's transport must deliver again.
        observer.count(vendor, 'outbound_dead_letter_failed');
        throw fault;
      }
      observer.count(vendor, 'outbound_dead_lettered');
      return { kind: 'set_aside', reason, mayBeApplied };
    },
    read: async (read) => {
      // What changes nothing can be sent again like what is known by its key.
      const end = await climb(tools, { ...read, idempotent: 'by_key' }, 'read');
      if (end.kind === 'gave_up') throw end.fault;
      return end.answer;
    },
  };
}

/** Whether a fault tells that the vendor, or our access to it, is not well. A refusal or a rate limit is an answer. */
function tellsOfTrouble(vendor: string, error: unknown): boolean {
  if (error instanceof AmbiguousError) return true;
  return isFault(error) && [`${vendor}_unreachable`, `${vendor}_unauthorized`].includes(error.code);
}
