import type { Caller } from '../app/authenticate.ts';
import type { CreatePaymentTools } from '../app/create-payment-types.ts';
import type { Processor } from '../app/ports/processor.ts';
import type { ViewStore } from '../app/ports/view-store.ts';
import type { TenantId } from '../core/ids.ts';
import type * as http from '../runtime/http-api.ts';

export interface PaymentsTools extends CreatePaymentTools {
  /** For the list. */
  readonly views: Pick<ViewStore, 'range'>;
  /** Where a new payment goes. @default to the one processor */
  readonly choose?: (payment: { readonly tenantId: TenantId; readonly currency: string }) => Processor;
}

export type Call = http.Call<PaymentsTools, Caller>;
export type Route = http.Route<PaymentsTools, Caller>;
