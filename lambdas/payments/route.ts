import type { Caller } from '../app/authenticate.ts';
import type { CreatePaymentTools } from '../app/create-payment-types.ts';
import type * as http from '../runtime/http-api.ts';

export type Call = http.Call<CreatePaymentTools, Caller>;
export type Route = http.Route<CreatePaymentTools, Caller>;
