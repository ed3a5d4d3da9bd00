import type * as http from '../../http/http-api.ts';
import { refusal } from '../../http/http-api.ts';
import { problem } from '../../http/problems.ts';
import { RetryableError, TerminalError } from '../../kernel/faults.ts';
import type { KeyedEffectTools } from '../../payments/use/keyed-effect.ts';
import type { ProcessorBooks } from '../../payments/use/processor.ts';
import type { Caller } from '../../tenants/authenticate.ts';
import type { LedgerReader } from '../../views/use/ledger-reader.ts';
import type { ViewStore } from '../../views/use/view-store.ts';

export interface LedgerTools extends KeyedEffectTools {
  /** For lists and sums: from the Views, seconds behind. */
  readonly ledger: LedgerReader;
  /** For comparisons: every row of the Ledger as it stands. */
  readonly wholeLedger: LedgerReader;
  /** For what the comparisons of the clock have found. */
  readonly views: Pick<ViewStore, 'range'>;
  /** Of every processor that is called here. */
  readonly books: readonly ProcessorBooks[];
}

export type Call = http.Call<LedgerTools, Caller>;
export type Route = http.Route<LedgerTools, Caller>;

/** The same for a payment that does not exist and for one of another tenant or mode: the id is not repeated. */
export function noSuchPayment({ request }: Call): http.Handled {
  return refusal(problem('not_found', 'There is no such payment.'), request);
}

/** Says so where the Ledger is there and healthy, and yet cannot be told: asking again with the same words is in vain. */
export async function readable({ request }: Call, read: () => Promise<http.Handled>): Promise<http.Handled> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof RetryableError && error.code === 'ledger_too_large') {
      const detail = 'The Ledger is too large to be read as a whole. Ask for the entries of one payment.';
      return refusal(problem('ledger_too_large', detail), request);
    }
    if (error instanceof TerminalError && error.code === 'balance_too_large') {
      const detail = 'A sum is beyond 2^53 - 1 and would lose digits as a JSON number. Add up the entries instead.';
      return refusal(problem('balance_too_large', detail), request);
    }
    throw error;
  }
}
