import type { Caller } from '../app/authenticate.ts';
import type { OrderTools } from '../app/create-order-types.ts';
import type * as http from '../runtime/http-api.ts';

export type Call = http.Call<OrderTools, Caller>;
export type Route = http.Route<OrderTools, Caller>;
