import type * as http from '../../http/http-api.ts';
import type { TenantId } from '../../kernel/ids.ts';
import type { Caller } from '../../tenants/authenticate.ts';
import type { CreatePaymentTools } from '../use/create-payment-types.ts';
import type { Processor } from '../use/processor.ts';

export interface PaymentsTools extends CreatePaymentTools {
  /** Where a new payment goes. @default to the one processor */
  readonly choose?: (payment: { readonly tenantId: TenantId; readonly currency: string }) => Processor;
}

export type Call = http.Call<PaymentsTools, Caller>;
export type Route = http.Route<PaymentsTools, Caller>;
