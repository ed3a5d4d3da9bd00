import type * as http from '../../http/http-api.ts';
import type { Caller } from '../../tenants/authenticate.ts';
import type { OrderTools } from '../use/create-order-types.ts';

export type Call = http.Call<OrderTools, Caller>;
export type Route = http.Route<OrderTools, Caller>;
